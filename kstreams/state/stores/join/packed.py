"""Reads single records from the columnar blocks of a join store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.record import Headers
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.join.blocks import BLOCK_BOUNDS, read_block
from kstreams.state.stores.join.coding import SETTLED, Element, read_headers

__all__ = ("PackedRows", "Remembered")


class Remembered(NamedTuple):
    """A record that a join keeps in its store, with the record's side and time bucket."""

    side: int
    bucket: int
    key: Any
    element: Element
    headers: Headers = ()


class PackedRows:
    """Reads the records in the blocks of a join store.

    Args:
        overlay: The store's write-back cache.
        key: The serde of the keys; the store is sorted by the bytes that this serde writes.
        sides: The serdes of the left and the right values.
    """

    def __init__(
        self, overlay: StoreOverlay, key: Serde[Any], sides: tuple[Serde[Any], Serde[Any]]
    ) -> None:
        self._overlay = overlay
        self._key = key
        self._read: list[Callable[[bytes], Any]] = [side.deserialize for side in sides]

    def read(self, width: int, of: tuple[int, Any] | None = None) -> list[Remembered]:
        """Return the remembered records of all blocks, in any order.

        Args:
            width: The width of a bucket, ms.
            of: The side and key whose records to return; None for all records.
        """
        found: list[tuple[int, bytes, int, int, int, bytes, bytes]] = []
        settled: set[int] = set()
        wanted = None if of is None else self._key.serialize(of[1])
        for (_, side, _, _), data in self._overlay.scan(*BLOCK_BOUNDS):
            if of is not None and side != of[0]:
                continue
            block = read_block(data)
            settled.update(block.settled.tolist())
            places = np.arange(len(block.times))
            if wanted is not None:
                places = np.flatnonzero(pc.equal(block.keys, wanted))
            numbers = [
                column[places].tolist() for column in (block.times, block.numbers, block.fates)
            ]
            keys, values = (
                objects_of(column.take(places)) for column in (block.keys, block.values)
            )
            headers = [b""] * len(places)
            if block.headers is not None:
                headers = objects_of(block.headers.take(pa.array(places)))
            rows = zip(keys, *numbers, values, headers, strict=True)
            found += [(side, *row) for row in rows]
        read, key = self._read, self._key.deserialize
        return [
            Remembered(
                side,
                time // width,
                key(name),
                (time, number, SETTLED if number in settled else fate, read[side](value)),
                read_headers(headers),
            )
            for side, name, time, number, fate, value, headers in found
        ]
