"""Both sides of a join of streams: what is remembered of each, by time."""

from __future__ import annotations
