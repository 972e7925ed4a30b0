"""Find the stored partners of a record in a stream join, and store the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kstreams.joins.streams.closing import Closing
from kstreams.record import Record
from kstreams.state.stores.join.coding import CLOCKS, SETTLED, WAITING, Element
from kstreams.state.stores.join.rows import JoinRows, Row, added

__all__ = ("GONE", "FindPartners", "partner_finder", "remembering", "settle")

FindPartners = Callable[[int, Any, int, int, int], "tuple[list[Element], list[Any]]"]
"""Takes a side, a key, the first and last time (ms), and the time (ms) before which unmatched
records of that side are final. Returns the matching records by time and number, and the handles of
rows that contain waiting records.
"""

GONE: Final = 2
"""The fate of a record that arrived late and was forwarded at once without a partner.

Such a record is not stored; the other fates are `SETTLED` and `WAITING`.
"""


def partner_finder(rows: JoinRows[Any, Any, Any], width: int) -> FindPartners:
    """Return a function that finds the records of a side and key within a time range.

    Args:
        rows: The rows of the join's store.
        width: The width of a row's time bucket, ms.
    """
    readers, chunks = (rows.reader(0), rows.reader(1)), rows.chunks

    def find(
        side: int,
        key: object,
        first: int,
        last: int,
        final: int,
    ) -> tuple[list[Element], list[Any]]:
        found: list[Element] = []
        waiting: list[Any] = []
        get = readers[side]
        for bucket in range(first // width, last // width + 1):
            handle = (1, side, bucket, 0, key)
            row = get(handle)
            if row is None:
                continue
            if _chosen(row[2], first, last, final, found):
                waiting.append(handle)
            if row[1]:
                for part, chunk in chunks(handle, row, first, last):
                    if _chosen(chunk[2], first, last, final, found):
                        waiting.append(part)
        if len(found) > 1:
            found.sort(key=_order)
        return found, waiting

    return find


def settle(
    rows: JoinRows[Any, Any, Any], handles: list[Any], first: int, last: int, final: int
) -> None:
    """Mark waiting records of rows as matched, except records that were forwarded unmatched.

    Args:
        rows: The rows of the join's store.
        handles: The store keys of the rows.
        first: The start of the range of record times, ms, inclusive.
        last: The end of the range of record times, ms, inclusive.
        final: The record time (ms) before which waiting records have been forwarded.
    """
    overlay = rows.overlay
    for handle in handles:
        row: Row = overlay.get(handle)
        elements = tuple(
            (each[0], each[1], SETTLED, each[3])
            if each[2] and first <= each[0] <= last and each[0] >= final
            else each
            for each in row[2]
        )
        overlay.put(handle, (row[0], row[1], elements))


def remembering(
    rows: JoinRows[Any, Any, Any], closing: Closing, side: int
) -> Callable[[Sequence[int], Record[Any, Any], int], None]:
    """Return a function that stores a record of a side, unless no later record can match it.

    Args:
        rows: The rows of the join's store.
        closing: Tracks waiting and expired records.
        side: 0 for left, 1 for right.
    """
    get, put, wait = rows.reader(side), rows.overlay.put, closing.wait
    setup, forgets_at = closing.setup, closing.forgets_at
    memory, width = setup.memory, setup.width

    def remember(clocks: Sequence[int], record: Record[Any, Any], fate: int) -> None:
        time = record.timestamp
        number, left, right, final_left, final_right = clocks
        newest = right if side else left
        if fate == WAITING or (fate == SETTLED and time >= newest - memory):
            element = time, number, fate, record.value
            added(get, put, (1, side, time // width, 0, record.key), element)
            if fate == WAITING:
                wait(side, number, record)
            number += 1
        if time > newest:
            if side:
                right = time
            else:
                left = time
        put(CLOCKS, (number, left, right, final_left, final_right))
        if time >= forgets_at[side]:
            closing.note()

    return remember


def _chosen(
    elements: tuple[Element, ...], first: int, last: int, final: int, found: list[Element]
) -> bool:
    """Append to `found` the elements from `first` to `last` (ms) that can be matched.

    Returns whether any of these elements waits for a partner. Waiting elements before the time
    `final` (ms) cannot be matched, because they were forwarded unmatched.
    """
    waits = False
    for element in elements:
        if first <= element[0] <= last:
            if not element[2]:
                found.append(element)
            elif element[0] >= final:
                found.append(element)
                waits = True
    return waits


def _order(element: Element) -> tuple[int, int]:
    return element[:2]
