"""The read-only store of a stream-stream join: the remembered records of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from kstreams._types import K
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.join.coding import WAITING
from kstreams.state.stores.join.packed import Remembered
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import NO_SETUP
from kstreams.state.stores.join.sides import sides_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore

__all__ = ("JoinStore", "RememberedRecord", "Side")

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""

Side = Literal["left", "right"]
"""One of the two streams of a join."""


@dataclass(frozen=True)
class RememberedRecord(Generic[VL, VR]):
    """A record that a join keeps to find later partners.

    Attributes:
        side: The record's side.
        left: The value of a left record; None for a right record.
        right: The value of a right record; None for a left record.
        timestamp: The record's time, ms.
        is_waiting: Whether the join forwards the record alone if it finds no partner.
        bucket_ms: The start of the record's time bucket, ms.
    """

    side: Side
    left: VL | None
    right: VR | None
    timestamp: int
    is_waiting: bool
    bucket_ms: int


class JoinStore(StateStore[JoinRows[K, VL, VR]], Generic[K, VL, VR]):
    """One partition of the records that a stream-stream join remembers; see `join_store(...)`.

    Only the join writes to it. An inner self-join stores the left side only.

    Source: Kafka Streams' `KStreamKStreamJoin`; combines its window stores with the
    `KeyValueStore` of outer joins.
    """

    def __init__(self, spec: StoreSpec[JoinStore[K, VL, VR]], overlay: Overlay) -> None:
        super().__init__(JoinRows(spec.name, spec.key, sides_of(spec.value), overlay))

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        side: Side | None = None,
        reverse: bool = False,
    ) -> Iterator[tuple[K, RememberedRecord[VL, VR]]]:
        """Yield the remembered records of a key, the left side first, by time.

        Args:
            key: The key.
            from_ms: The first time, ms; None is unbounded.
            to_ms: The last time, ms, inclusive; None is unbounded.
            side: The side to read; None for both.
            reverse: Whether to yield the records in reverse order.
        """
        sides = [number for number, name in enumerate(_SIDES) if side in (None, name)]
        found = (row for number in sides for row in self._rows.of_key(number, key))
        return self._within(found, from_ms, to_ms, reverse=reverse)

    def fetch_all(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, RememberedRecord[VL, VR]]]:
        """Yield the remembered records of a time span, by side, time bucket, key and time."""
        return self._within(self._rows.scan(), from_ms, to_ms, reverse=reverse)

    def _within(
        self,
        rows: Iterator[Remembered],
        from_ms: int | None,
        to_ms: int | None,
        *,
        reverse: bool,
    ) -> Iterator[tuple[K, RememberedRecord[VL, VR]]]:
        width, clocks = (self._rows.setup() or NO_SETUP).width, self._rows.clocks()
        for row in reversed(list(rows)) if reverse else rows:
            time, _, fate, value = row.element
            if (from_ms is None or time >= from_ms) and (to_ms is None or time <= to_ms):
                left, right = (None, value) if row.side else (value, None)
                yield (
                    row.key,
                    RememberedRecord(
                        _SIDES[row.side],
                        left,
                        right,
                        time,
                        is_waiting=fate == WAITING and time >= clocks.final(row.side),
                        bucket_ms=row.bucket * width,
                    ),
                )


_SIDES: tuple[Side, Side] = ("left", "right")
