"""The built-in kinds of windows with their engines, one per file."""

from __future__ import annotations
