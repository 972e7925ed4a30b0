"""What the blocks of a join store have, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.join.blocks import BLOCK_BOUNDS, read_block
from kstreams.state.stores.join.coding import SETTLED, Element

__all__ = ("PackedRows", "Remembered")


class Remembered(NamedTuple):
    """A record that a side remembers."""

    side: int
    bucket: int
    key: Any
    element: Element


class PackedRows:
    """Reads blocks.

    Args:
        overlay: The store's part.
        key: Serde of the keys, as stores keep them.
        sides: Serdes of the values.
    """

    def __init__(
        self, overlay: StoreOverlay, key: Serde[Any], sides: tuple[Serde[Any], Serde[Any]]
    ) -> None:
        self._overlay = overlay
        self._key = key
        self._read: list[Callable[[bytes], Any]] = [side.deserialize for side in sides]

    def read(self, width: int, of: tuple[int, Any] | None = None) -> list[Remembered]:
        """Return what is remembered, in no order.

        Args:
            width: How long a bucket is, ms.
            of: A side and a key; None for all.
        """
        found: list[tuple[int, bytes, int, int, int, bytes]] = []
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
            found += [(side, *row) for row in zip(keys, *numbers, values, strict=True)]
        read, key = self._read, self._key.deserialize
        return [
            Remembered(
                side,
                time // width,
                key(name),
                (time, number, SETTLED if number in settled else fate, read[side](value)),
            )
            for side, name, time, number, fate, value in found
        ]
