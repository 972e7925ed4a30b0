"""The differences of a store between two versions, row by row, in the order of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from kstreams.views.store_reads import StoreReads
from kstreams_admin.flat_rows import columns_of, flat_parts, key_serde
from kstreams_admin.row_text import RowText

__all__ = ("ChangedRow", "changed_rows")

_Row = tuple[Any, ...]


class ChangedRow(NamedTuple):
    """A row that only one of two versions has.

    Attributes:
        sign: `-` for a row of the earlier version, `+` for a row of the later version.
        row: The row, as `rows_of` yields it.
    """

    sign: Literal["-", "+"]
    row: _Row


def changed_rows(before: StoreReads[Any], after: StoreReads[Any]) -> Iterator[ChangedRow | None]:
    """Yield the rows that exist in only one version, and None for each row in both.

    Both versions are scanned together, so memory holds few rows. A changed row is yielded twice,
    the earlier version first. Rows are equal if their values, or the displayed forms of their
    values, are equal.

    Args:
        before: Reads of the store at the earlier version.
        after: Reads of the same store at the later version.

    Raises:
        StoreKindError: The store kind does not describe its rows.
    """
    text = RowText(before.spec, key_serde(before), columns_of(before))
    both = merge(_scan(before, 0), _scan(after, 1), key=itemgetter(0))
    for _, same in groupby(both, itemgetter(0)):
        sides: tuple[list[_Row], list[_Row]] = ([], [])
        for _, side, row in same:
            sides[side].extend(flat_parts(before, row))
        yield from _changes(*sides, text)


def _scan(view: StoreReads[Any], side: int) -> Iterator[tuple[Any, int, Any]]:
    kind, order = view.spec.kind, view.spec.kind.order(view.spec)
    rows = view.scan(lambda store: kind.scan(store, None, None, reverse=False), order=order)
    return ((order(row), side, row) for row in rows)


def _changes(old: list[_Row], new: list[_Row], text: RowText) -> Iterator[ChangedRow | None]:
    if old == new:
        yield from (None for _ in old)
        return
    olds, news = ([text.text(row) for row in rows] for rows in (old, new))
    common = Counter(olds) & Counter(news)
    yield from (None for _ in common.elements())
    yield from (ChangedRow("-", row) for row in _alone(old, olds, common))
    yield from (ChangedRow("+", row) for row in _alone(new, news, common))


def _alone(rows: list[_Row], texts: list[str], common: Counter[str]) -> Iterator[_Row]:
    left = Counter(common)
    for row, text in zip(rows, texts, strict=True):
        if left[text]:
            left[text] -= 1
        else:
            yield row
