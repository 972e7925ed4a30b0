"""Record times, punctuation, idle sources, and records held for a later batch."""

from __future__ import annotations
