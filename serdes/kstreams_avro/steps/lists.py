"""Steps of arrays and maps: blocks of items, each preceded by its number of items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams_avro.datum import Malformed
from kstreams_avro.nodes import Check
from kstreams_avro.steps.cursor import Cursor, Ints
from kstreams_avro.steps.plain import plain_array
from kstreams_avro.steps.scalars import PiecesStep
from kstreams_avro.steps.step import Step, read_count

__all__ = ("ArrayStep", "MapStep")

_FEW_ROWS = 32
"""The number of remaining rows below which items are read one by one."""


class _BlocksStep(Step):
    """Reads blocks of items: the first items of all rows as a column, then the second items."""

    least = 1
    _item: Step

    def _blocks(self, cursor: Cursor) -> tuple[Ints, pa.Array]:
        """Return the offsets of each row's items, and all items."""
        count = len(cursor)
        rounds: list[pa.Array] = []
        owners: list[Ints] = []
        self._walk(cursor, rounds, owners)
        if not rounds:
            return np.zeros(count + 1, np.int64), pa.array([], self._item.arrow)
        of_rows = np.concatenate(owners)
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(of_rows, minlength=count), out=offsets[1:])
        items = rounds[0] if len(rounds) == 1 else pa.concat_arrays(rounds)
        if len(rounds) > 1:
            items = items.take(pa.array(np.argsort(of_rows, kind="stable")))
        return offsets, items

    def _walk(self, cursor: Cursor, rounds: list[pa.Array] | None, owners: list[Ints]) -> None:
        """Read the array or map of each row; each pass reads the next item of all unfinished rows.

        Args:
            cursor: The position in each row.
            rounds: The list to which each pass appends a column of the items that it reads; None
                skips the items.
            owners: The list to which each pass appends the row numbers of these items.
        """
        waiting = np.zeros(len(cursor), np.int64)
        active = np.arange(len(cursor))
        begun = cursor.some(active)
        while True:
            active = self._open(cursor, active, waiting)
            if not len(active):
                return
            if len(active) < _FEW_ROWS:
                self._one_by_one(cursor, begun, active, rounds, owners)
                return
            ahead = cursor.some(active)
            if rounds is None:
                self._item.skip(ahead)
            else:
                rounds.append(self._item.column(ahead))
                owners.append(active)
            cursor.follow(active, ahead)
            waiting[active] -= 1

    def _open(self, cursor: Cursor, active: Ints, waiting: Ints) -> Ints:
        """Read the item count of the next block in rows whose current block has no unread items.

        Args:
            cursor: The position in each row.
            active: The numbers of the rows that have not ended.
            waiting: The number of unread items in the current block of each row.

        Returns:
            The numbers of the rows that have further items.
        """
        done = active[waiting[active] == 0]
        if not len(done):
            return active
        ahead = cursor.some(done)
        waiting[done] = _counts(ahead, self._item.least)
        cursor.follow(done, ahead)
        return active[waiting[active] > 0]

    def _one_by_one(
        self,
        cursor: Cursor,
        begun: Cursor,
        rows: Ints,
        rounds: list[pa.Array] | None,
        owners: list[Ints],
    ) -> None:
        """Read all items of a few rows again, one by one, and replace the items collected for them.

        Args:
            cursor: The position in each row; moved to the end of these rows' items.
            begun: The start of each row's items.
            rows: The numbers of the rows to read.
            rounds: The columns of items, as for `_walk`; None to skip the items.
            owners: The row numbers of these items, as for `_walk`.
        """
        if rounds is not None:
            for number, owner in enumerate(owners):
                kept = ~np.isin(owner, rows)
                owners[number] = owner[kept]
                rounds[number] = rounds[number].filter(pa.array(kept))
        ends = []
        for row in rows.tolist():
            data = begun.rest(row)
            try:
                items, place = self._items(data)
            except IndexError as exc:
                raise Malformed("the data is cut short") from exc
            ends.append(place)
            if rounds is not None:
                owners.append(np.full(len(items), row))
                rounds.append(plain_array(items, self._item.arrow))
        ahead = begun.some(rows)
        ahead.advance(np.array(ends, np.int64))
        cursor.follow(rows, ahead)

    def _items(self, data: bytes) -> tuple[list[Any], int]:
        """Read all items of one array or map; return the items and the offset after them."""
        read, least = self._item.read, self._item.least
        items: list[Any] = []
        place = 0
        while True:
            count, place = read_count(data, place, least)
            if not count:
                return items, place
            for _ in range(count):
                item, place = read(data, place, 0)
                items.append(item)

    @override
    def skip(self, cursor: Cursor) -> None:
        self._walk(cursor, None, [])


def _counts(cursor: Cursor, least: int) -> Ints:
    """Read the number of items in the next block of each row.

    `least` is the minimum number of bytes of an item.
    """
    counts = cursor.longs()
    sized = np.flatnonzero(counts < 0)
    if len(sized):
        ahead = cursor.some(sized)
        sizes = ahead.longs()
        if (sizes < 0).any() or (sizes > ahead.left()).any():
            raise Malformed("the size of a block is negative, or exceeds the bytes left")
        cursor.follow(sized, ahead)
        counts = np.abs(counts)
    if ((counts < 0) | (counts > cursor.left() // least)).any():
        raise Malformed("a block has more items than fit into the bytes left")
    return counts


class ArrayStep(_BlocksStep):
    """Reads arrays.

    Args:
        item: The step of the items.
        container: The Python class of the result, such as `list`.
        check: Rejects values against a constraint of the Python type; None without constraints.
    """

    def __init__(self, item: Step, container: type, check: Check = None) -> None:
        self._item = item
        unknown = item.arrow is None or check is not None
        self.arrow = None if unknown else pa.list_(item.arrow)
        self.passable = item.passable
        read, least = item.read, item.least

        def reads(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            items: list[Any] = []
            while True:
                count, place = read_count(data, place, least)
                if not count:
                    break
                try:
                    for _ in range(count):
                        item, place = read(data, place, depth)
                        items.append(item)
                except IndexError:
                    raise Malformed("the data is cut short").within(f"[{len(items)}]") from None
                except Malformed as exc:
                    raise exc.within(f"[{len(items)}]") from None
            if container is not list:
                items = _held(items, container)
            return (items if check is None else check(items)), place

        self.read = reads

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        offsets, items = self._blocks(cursor)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _held(items: list[Any], container: type) -> Any:  # noqa: ANN401  # a container
    try:
        return container(items)
    except TypeError as exc:  # unhashable items
        raise Malformed(str(exc)) from exc


class MapStep(_BlocksStep):
    """Reads maps from text to values; the last of equal keys wins."""

    def __init__(self, value: Step, check: Check = None) -> None:
        key = PiecesStep(text=True, conversion=None)
        self._item = _PairStep(key, value)
        unknown = value.arrow is None or check is not None
        self.arrow = None if unknown else pa.map_(pa.string(), value.arrow)
        self.passable = value.passable
        read, read_key, least = value.read, key.read, self._item.least

        def reads(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            items: dict[str, Any] = {}
            while True:
                count, place = read_count(data, place, least)
                if not count:
                    return (items if check is None else check(items)), place
                for _ in range(count):
                    name, place = read_key(data, place, depth)
                    try:
                        items[name], place = read(data, place, depth)
                    except IndexError:
                        raise Malformed("the data is cut short").within(f"[{name!r:.40}]") from None
                    except Malformed as exc:
                        raise exc.within(f"[{name!r:.40}]") from None

        self.read = reads

    def column(self, cursor: Cursor) -> pa.Array:
        """Return a column of maps; repeated keys are kept."""
        offsets, items = self._blocks(cursor)
        if not len(items):
            items = pa.array([], self._item.arrow)
        return pa.MapArray.from_arrays(
            pa.array(offsets, pa.int32()), items.field(0), items.field(1)
        )


class _PairStep(Step):
    """Reads a key and a value of a map."""

    def __init__(self, key: Step, value: Step) -> None:
        self._key = key
        self._value = value
        self.least = key.least + value.least
        known = value.arrow is not None
        self.arrow = pa.struct([("key", key.arrow), ("value", value.arrow)]) if known else None

        def read(data: bytes, place: int, depth: int) -> tuple[dict[str, Any], int]:
            name, place = key.read(data, place, depth)
            content, place = value.read(data, place, depth)
            return {"key": name, "value": content}, place

        self.read = read

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        columns = [self._key.column(cursor), self._value.column(cursor)]
        return pa.StructArray.from_arrays(columns, ["key", "value"])

    @override
    def skip(self, cursor: Cursor) -> None:
        self._key.skip(cursor)
        self._value.skip(cursor)
