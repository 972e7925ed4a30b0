"""Names of state: made of meaning, so that they survive unrelated changes of the code."""

from __future__ import annotations

__all__ = ("dashed",)


def dashed(*parts: str) -> str:
    """Return the parts that are not empty, joined by dashes."""
    return "-".join(part for part in parts if part)
