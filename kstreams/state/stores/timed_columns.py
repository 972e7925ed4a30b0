"""Columnar operations on rows with timers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams._types import Ints
from kstreams.errors import SerdeError
from kstreams.serde.base import Serde
from kstreams.serde.composite import read_int64, sortable_int64
from kstreams.serde.layout import Columns, FixedLayout
from kstreams.state.cache.encoded_rows import EncodedRows
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.timed_rows import ROW, TIMER

__all__ = ("TimedColumns",)

_HEAD = 9
"""The number of bytes in a row before its payload, and in an index entry before its key."""


class TimedColumns:
    """Reads and writes many rows of `TimedRows` at a time; keys and payloads are encoded.

    Args:
        overlay: The store's write-back cache, which is switched from objects to bytes.
        value: Serde of the values.
        layout: The layout of the items (sessions or slices) in a row's payload; None, which is
            rejected, if values have no fixed width.

    Raises:
        TypeError: The layout is None: columns need values of fixed width.
    """

    def __init__(
        self, overlay: StoreOverlay, value: Serde[Any], layout: FixedLayout | None
    ) -> None:
        if layout is None:
            raise TypeError(
                f"expected values of fixed width, but values of {value.name} vary in width"
            )
        self.rows = EncodedRows(overlay)
        self.layout = layout

    def read(self, keys: Sequence[bytes]) -> tuple[list[int | None], list[bytes]]:
        """Return the timer (ms) and the payload of the row of each key.

        A key without a row has the timer None and an empty payload.
        """
        data = self.rows.get_many([ROW + key for key in keys])
        timers = [None if row is None else read_int64(row, 1) for row in data]
        return timers, [b"" if row is None else row[_HEAD:] for row in data]

    def payloads(self, columns: Columns, counts: Ints) -> list[bytes]:
        """Return the encoded payloads of rows.

        Args:
            columns: The items (sessions or slices) of the rows, row by row.
            counts: The number of items of each row.

        Raises:
            SerializationError: A number in a value is out of range.
        """
        try:
            return self.layout.joined(columns, counts)
        except SerdeError as exc:
            raise exc.at(store=self.rows.name) from None

    def write(
        self,
        keys: Sequence[bytes],
        before: Sequence[int | None],
        timers: Sequence[int],
        payloads: Sequence[bytes],
    ) -> None:
        """Set the rows of keys; a row with an empty payload is deleted.

        Args:
            keys: The encoded keys.
            before: The current timers (ms), None without a row.
            timers: The new timers, ms.
            payloads: The new payloads.
        """
        changes: dict[bytes, bytes | None] = {}
        for key, old, timer, payload in zip(keys, before, timers, payloads, strict=True):
            if old is not None and (not payload or timer != old):
                changes[TIMER + sortable_int64(old) + key] = None
            if payload:
                head = sortable_int64(timer)
                changes[ROW + key] = ROW + head + payload
                if timer != old:
                    changes[TIMER + head + key] = b""
            elif old is not None:
                changes[ROW + key] = None
        self.rows.put_many(list(changes), list(changes.values()))

    def due(self, until_ms: int) -> list[bytes]:
        """Return the keys with timers at or before `until_ms`, by time, then by key.

        Their index entries are deleted: the caller must write the rows with later timers, or delete
        the rows.
        """
        end = TIMER + sortable_int64(until_ms + 1)
        found = [handle[_HEAD:] for handle, _ in self.rows.scan(TIMER, end)]
        if found:
            self.rows.delete_range(TIMER, end)
        return found

    def keys(self) -> list[bytes]:
        """Return the keys of all rows, by timer, then by key."""
        return [handle[_HEAD:] for handle, _ in self.rows.scan(TIMER, ROW)]
