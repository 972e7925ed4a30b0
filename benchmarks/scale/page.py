"""A page with sections written by scale runs; a run writes the sections of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ("END", "begin", "write_into")

END = "<!-- end of what was measured -->"


def begin(section: str) -> str:
    """Return the marker before a section."""
    return f"<!-- measured: python -m benchmarks scale --into PAGE, {section} -->"


def write_into(page: Path, sections: Mapping[str, str]) -> None:
    """Replace the text between the markers of sections; other sections stay unchanged.

    Raises:
        ValueError: The page does not have the markers in this order; the page is not changed.
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
