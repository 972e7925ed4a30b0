"""A page with sections that are written by scale runs, each by the parts that were run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ("END", "begin", "write_into")

END = "<!-- end of what was measured -->"


def begin(section: str) -> str:
    """Return the mark before a section."""
    return f"<!-- measured: python -m benchmarks scale --into PAGE, {section} -->"


def write_into(page: Path, sections: Mapping[str, str]) -> None:
    """Replace what stands between the marks of sections; others stay.

    Raises:
        ValueError: The page has no such marks, or not in this order; it stays as it was.
    """
    whole = page.read_text()
    for section, text in sections.items():
        mark = begin(section)
        before, found, rest = whole.partition(mark)
        _, ended, after = rest.partition(END)
        if not found or not ended:
            raise ValueError(f"{page} has no lines {mark!r} and {END!r}, between which to write")
        whole = f"{before}{mark}\n\n{text}\n\n{END}{after}"
    page.write_text(whole)
