"""Changes of a join store, in rows and in blocks, for tests of changelogs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kstreams import INT64
from kstreams.state.stores.join.columns import JoinColumns
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import Setup
from kstreams.state.stores.join.tail import Elements, JoinTail

__all__ = ("put_packed", "put_remembered", "remembered")

_Change = tuple[int, int, "int | None"]
"""Key, time and value."""

SETUP = Setup.of(20, 10, 5)


def put_remembered(store: Any, change: _Change) -> None:
    """Remember a record; None removes it, 5 adds many."""
    key, time, value = change
    rows: JoinRows[int, int, int] = JoinRows.of(store)
    rows.set_up(SETUP)
    clocks, side = rows.clocks(), time % 2
    if value is None:
        rows.drop_buckets(side, time // SETUP.width)
        rows.drop_open(time)
        return
    for number in range(clocks.number, clocks.number + (40 if value == 5 else 1)):
        rows.add(side, time // SETUP.width, key, (time, number, value % 2, value))
        if value % 2:
            rows.put_open(Open(SETUP.close(side, time), side, time, number, key))
        rows.set_clocks(rows.clocks().after(side, time, number))


def put_packed(store: Any, change: _Change) -> None:
    """Remember a record by columns; None removes older ones, 5 settles waiting ones."""
    key, time, value = change
    rows: JoinRows[int, int, int] = JoinRows.of(store)
    tail = JoinTail(rows, JoinColumns(rows), rows.set_up(SETUP))
    clocks, side, found = rows.clocks(), time % 2, tail.read()
    fresh = Elements.of([])
    if value is not None:
        one = np.array([side, time, clocks.number, value % 2])
        names = pa.array([INT64.ordered.serialize(key)]), pa.array([INT64.serialize(value)])
        fresh = Elements(one[:1], names[0], one[1:2], one[2:3], one[3:], names[1])
    moved = clocks.after(side, time, clocks.number) if value is None or value > 3 else clocks
    moved = moved._replace(number=clocks.number + 1)
    rows.set_clocks(moved)
    settled = (found.elements.fates == 1) & (value == 5)
    tail.advance(found, settled, fresh, moved)


def remembered(store: Any) -> list[Any]:
    rows: JoinRows[int, int, int] = JoinRows.of(store)
    entries = list(rows.open_entries(None, None))
    return [rows.setup(), rows.clocks(), *store.fetch_all(), *entries]
