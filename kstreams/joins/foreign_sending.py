"""What the first stage of a foreign-key join goes by, and what it sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from kstreams.joins.encoded_output import EncodedContext, encoded_table
from kstreams.joins.foreign_messages import (
    ENTER,
    LEAVE,
    LEAVE_RESULT,
    MOVE,
    NO_ROW_NOW,
    ROW_NOW,
    subscription,
)
from kstreams.joins.joiner import Joiner
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.state.stores.prefix_free import write_prefix_free
from kstreams.state.stores.subscription.rows import prefixing

__all__ = ("Foreign", "ForeignKeys", "ForeignSending", "Step", "Subscribing")

_AT_ONCE = 8_192
"""Rows of a table that is sent."""


@dataclass(frozen=True)
class Subscribing:
    """What the first stage goes by.

    Args:
        by: Returns the foreign key of a left row; None for none.
        joiner: Makes the results of rows without a foreign key.
        key: Serde of the left table's keys.
        value: Serde of its values.
        foreign: Serde of the foreign keys on their way to the right table's tasks.
        stored: Serde of the foreign keys in the stores there.
        result: Serde of the results.
        subscriptions: Name of the edge to the right table's tasks.
        alone: Name of the edge for results that have no right row; None for an inner join.
    """

    by: Callable[[Any, Any], Any]
    joiner: Joiner[Any, Any, Any, Any]
    key: Serde[Any]
    value: Serde[Any]
    foreign: Serde[Any]
    stored: Serde[Any]
    result: Serde[Any]
    subscriptions: str
    alone: str | None


class Foreign(NamedTuple):
    """A foreign key: as it goes over the edge, and as rows begin with it."""

    key: bytes
    prefix: bytes


class Step(NamedTuple):
    """A change of a left row, encoded.

    Attributes:
        own: The row's key.
        was: The foreign key before, if any.
        existed: Whether there was a row.
        now: The foreign key after it, if any.
        data: The left value; or the result, if the row names no foreign key.
        time: Of the change, in ms.
    """

    own: bytes
    was: Foreign | None
    existed: bool
    now: Foreign | None
    data: bytes | None
    time: int


class ForeignKeys:
    """Encodes foreign keys, and notes them where equal ones have equal bytes.

    Args:
        terms: What the stage goes by.
    """

    def __init__(self, terms: Subscribing) -> None:
        self._terms = terms
        self._encode = terms.foreign.serialize
        self._prefix = prefixing(terms.stored)
        self._notes = terms.foreign.hashes_by_bytes and terms.stored.hashes_by_bytes
        self._known: dict[Any, Foreign] = {}

    def encoded(self, key: object) -> Foreign:
        """Return a key's bytes."""
        if not self._notes:
            return Foreign(self._encode(key), self._prefix(key))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Foreign(self._encode(key), self._prefix(key))
        return found

    def encoded_many(self, keys: Sequence[Any]) -> list[Foreign | None]:
        """Return the bytes of many keys, of which each may be None."""
        if not self._notes:
            return [None if key is None else self.encoded(key) for key in keys]
        fresh = [key for key in dict.fromkeys(keys) if key is not None and key not in self._known]
        ways = objects_of(self._terms.foreign.serialize_many(fresh))
        stored = objects_of(self._terms.stored.ordered.serialize_many(fresh))
        self._known.update(
            zip(fresh, map(Foreign, ways, map(write_prefix_free, stored)), strict=True)
        )
        known = self._known.get
        return [None if key is None else known(key) for key in keys]

    def forget(self) -> None:
        """Forget what was noted."""
        self._known.clear()


class ForeignSending:
    """Sends what a batch's changes of left rows come to.

    Args:
        terms: What the stage goes by.
        context: Takes what is sent.
    """

    def __init__(self, terms: Subscribing, context: EncodedContext) -> None:
        self._terms = terms
        self._context = context
        self._inner = terms.joiner.how == "inner"

    def send(self, steps: Iterable[Step]) -> None:
        """Send one change of each left row: from what was before the batch to what is now."""
        subscriptions: list[tuple[bytes, bytes, int]] = []
        alone: list[tuple[bytes, bytes, int]] = []
        inner = self._inner
        for own, was, existed, now, value, time in steps:
            moved = was is not None and was != now
            if was is not None and moved:
                says = LEAVE_RESULT if inner and now is None else LEAVE
                subscriptions.append((was.key, subscription(says, was.prefix, own), time))
            if now is not None:
                says = MOVE if moved else ENTER
                data = subscription(says, now.prefix, own, value or b"")
                subscriptions.append((now.key, data, time))
            elif value is not None:
                alone.append((own, ROW_NOW + value, time))
            elif existed:
                alone.append((own, NO_ROW_NOW, time))
        self._forward(self._terms.subscriptions, subscriptions)
        if self._terms.alone is not None:
            self._forward(self._terms.alone, alone)

    def _forward(self, edge: str, rows: Sequence[tuple[bytes, bytes, int]]) -> None:
        binary = pa.binary()
        for start in range(0, len(rows), _AT_ONCE):
            keys, values, times = zip(*rows[start : start + _AT_ONCE], strict=True)
            table = encoded_table(pa.array(keys, binary), pa.array(values, binary), pa.array(times))
            self._context.forward_encoded(edge, table)
