"""A page whose middle is written by a scale run."""

from __future__ import annotations

from pathlib import Path

__all__ = ("BEGIN", "END", "write_into")

BEGIN = "<!-- measured: python -m benchmarks scale --into PAGE -->"
END = "<!-- end of what was measured -->"


def write_into(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page.

    Raises:
        ValueError: It has no such marks, or not in this order.
    """
    whole = page.read_text()
    before, found, rest = whole.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r}, between which to write")
    page.write_text(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}")
