"""Tables that are sorted, filtered and cut into pages here, not in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams_serve.parameters import Parameters
from kstreams_serve.problems import Problem

__all__ = ("PAGE_ROWS", "Column", "Pages", "Sorting", "paged", "sorting_in")

T = TypeVar("T")
"""Type of the rows."""

PAGE_ROWS = 50
_MOST_PAGES = 1_000_000


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title: What it is called.
        sort: What it is called in an address that sorts by it; empty where it cannot be sorted.
        kind: `number` where it stands on the right.
    """

    title: str
    sort: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Sorting:
    """How a table is sorted, and of which rows it is.

    Attributes:
        by: The column.
        down: Whether the largest come first.
        find: What is in the names of the rows; empty for all.
        page: Which page, from 1.
    """

    by: str
    down: bool
    find: str
    page: int


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A page of a table.

    Attributes:
        rows: Its rows.
        number: Which it is, from 1.
        last: How many there are.
        kept: What the addresses of the other pages have, besides their number.
    """

    rows: Sequence[T]
    number: int
    last: int
    kept: Mapping[str, object]


def sorting_in(given: Parameters, columns: Sequence[str], *, first: str) -> Sorting:
    """Return how a request wants a table.

    Args:
        given: The request; it may have `sort`, `down`, `find` and `page`.
        columns: What it can be sorted by.
        first: What it is sorted by where nothing is said.

    Raises:
        Problem: It wants something else.
    """
    by = given.get("sort") or first
    if by not in columns:
        raise Problem(400, f"the table can be sorted by {', '.join(columns)}")
    down = given.get("down", "false" if by == first else "true")
    if down not in ("true", "false"):
        raise Problem(400, "down is true or false")
    page = given.whole("page", 1, _MOST_PAGES) or 1
    return Sorting(by, down == "true", given.get("find") or "", page)


def paged(
    rows: Sequence[T], sorting: Sorting, key: Callable[[T], Any], name: Callable[[T], str]
) -> Pages[T]:
    """Return the page of rows that is wanted; the last one where there are not so many.

    Args:
        rows: All rows.
        sorting: Which of them, in which order.
        key: What they are sorted by; None comes last.
        name: What is searched for `find`.
    """
    found = [row for row in rows if sorting.find.lower() in name(row).lower()]
    known = [row for row in found if key(row) is not None]
    rest = [row for row in found if key(row) is None]
    ordered = [*sorted(known, key=key, reverse=sorting.down), *rest]
    last = max(1, -(-len(ordered) // PAGE_ROWS))
    number = min(sorting.page, last)
    kept = {
        "sort": sorting.by,
        "down": "true" if sorting.down else "false",
        "find": sorting.find or None,
    }
    return Pages(ordered[(number - 1) * PAGE_ROWS : number * PAGE_ROWS], number, last, kept)
