"""Sizes as one reads them."""

from __future__ import annotations

__all__ = ("shown_size",)


def shown_size(count: float) -> str:
    """Return a number of bytes with a unit, such as `2.0 MB`."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
