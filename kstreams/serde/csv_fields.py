"""Split a row of CSV into fields without Arrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

__all__ = ("divided", "has_more_fields")


@lru_cache(16)
def _parts(mark: bytes) -> re.Pattern[bytes]:
    """Return a pattern that matches quoted text, or the delimiter (`mark`) as group 1."""
    return re.compile(rb'"[^"]*(?:"|\Z)|(' + re.escape(mark) + b")")


def _marks(row: bytes, mark: bytes) -> Iterator[int]:
    """Yield the offsets of the delimiters (`mark`) that are not in quotes."""
    return (found.start() for found in _parts(mark).finditer(row) if found.lastindex)


def has_more_fields(row: bytes, mark: bytes, most: int) -> bool:
    """Return whether a row has more than `most` fields, without splitting the row.

    `mark` is the delimiter. A row of a few megabytes may have millions of fields, each an object of
    33 bytes or more.
    """
    if row.count(mark) < most:
        return False
    return next(islice(_marks(row, mark), most - 1, None), None) is not None


def divided(row: bytes, mark: bytes) -> list[bytes]:
    """Return the fields of a row, with their quotes; `mark` is the delimiter."""
    fields: list[bytes] = []
    begin = 0
    for end in _marks(row, mark):
        fields.append(row[begin:end])
        begin = end + len(mark)
    return [*fields, row[begin:]]
