"""Tables that the server sorts, filters and splits into pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kstreams.quoting import repr_of
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
        title: The title.
        sort: The value of the query parameter `sort`; empty if the column cannot be sorted.
        kind: `number` for right-aligned columns.
    """

    title: str
    sort: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Sorting:
    """The order and the filter of a table.

    Attributes:
        by: The `sort` of the column that orders the rows.
        down: Whether the largest rows come first.
        find: Only rows whose name contains this text; empty for all rows.
        page: The number of the page, from 1.
    """

    by: str
    down: bool
    find: str
    page: int


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A page of a table.

    Attributes:
        rows: The rows.
        number: The number of the page, from 1.
        last: The number of pages.
        kept: The other query parameters, which links to pages keep.
    """

    rows: Sequence[T]
    number: int
    last: int
    kept: Mapping[str, object]


def sorting_in(given: Parameters, columns: Sequence[str], *, first: str) -> Sorting:
    """Return the order and the filter in a request.

    Args:
        given: The parameters of the request, which may have `sort`, `down`, `find` and `page`.
        columns: The sortable columns.
        first: The default sort column.

    Raises:
        Problem: A parameter is invalid.
    """
    by = given.get("sort") or first
    if by not in columns:
        raise Problem(400, f"sort is {repr_of(by, 40)}; expected one of {', '.join(columns)}")
    down = given.get("down", "false" if by == first else "true")
    if down not in ("true", "false"):
        raise Problem(400, f"down is {repr_of(down, 40)}; expected true or false")
    page = given.whole("page", 1, _MOST_PAGES) or 1
    return Sorting(by, down == "true", given.get("find") or "", page)


def paged(
    rows: Sequence[T], sorting: Sorting, key: Callable[[T], Any], name: Callable[[T], str]
) -> Pages[T]:
    """Return the requested page of rows; the last one if there are fewer pages.

    Args:
        rows: All rows.
        sorting: The order and the filter.
        key: The sort key; None comes last.
        name: The text for `find`.
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
