"""The input lines of the word counts."""

from __future__ import annotations

__all__ = ("LINES",)

LINES = [f"line {n} of a text that is counted word by word" for n in range(5_000)]
