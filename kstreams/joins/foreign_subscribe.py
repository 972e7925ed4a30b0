"""The first stage of a foreign-key join: left rows say which foreign key they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.joins.encoded_output import EncodedContext, encoded_context, encoded_table
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
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.stores.subscription.rows import prefixing

__all__ = ("ForeignSubscribe",)

_AT_ONCE = 8_192
"""Rows of a table that is sent."""


@dataclass(frozen=True)
class ForeignSubscribe:
    """Makes the processors that send subscriptions, by the changes of the left table.

    One change a key and batch goes on: from what was at its beginning to what is at its end.
    All that can fail is done with the record: keys, values and results are encoded there.
    Versions that are not the latest say nothing.

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

    Source: `SubscriptionSendProcessorSupplier` of Kafka Streams.
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

    def __call__(self) -> _Subscribe:
        """Return a new processor."""
        return _Subscribe(self)


class _Foreign(NamedTuple):
    """A foreign key: as it goes over the edge, and as rows begin with it."""

    key: bytes
    prefix: bytes


class _Step(NamedTuple):
    """A change of a left row, encoded.

    Attributes:
        own: The row's key.
        was: The foreign key before, and whether there was a row.
        now: The foreign key after it.
        data: The left value; or the result, if the row names no foreign key.
        time: Of the change, in ms.
    """

    own: bytes
    was: _Foreign | None
    existed: bool
    now: _Foreign | None
    data: bytes | None
    time: int


class _Subscribe(ClosureProcessor[Any, "Change[Any]", Any, Any]):
    keeps_key: ClassVar[bool] = False

    def __init__(self, stage: ForeignSubscribe) -> None:
        self._stage = stage

    def bind(self, context: ProcessorContext[Any, Any]) -> Callable[[Record[Any, Any]], None]:
        stage = self._stage
        by, encode_key, encode_value = stage.by, stage.key.serialize, stage.value.serialize
        known: dict[Any, _Foreign] = {}
        encoded = _encoding(stage, known)
        alone = stage.alone is not None
        function, encode_result = stage.joiner.function, stage.result.serialize
        sending = _Sending(stage, encoded_context(context))

        def release(steps: Sequence[_Step]) -> None:
            known.clear()
            sending.send(steps)

        take = context.hold(release)

        def named(key: object, value: object) -> _Foreign | None:
            found = None if value is None else by(key, value)
            return None if found is None else encoded(found)

        def process(record: Record[Any, Change[Any]]) -> None:
            key, change = record.key, record.value
            new, old = change.new, change.old
            if not change.latest or (new is None and old is None):
                return
            was, now = named(key, old), named(key, new)
            data = None
            if now is not None:
                data = encode_value(new)
            elif alone and new is not None:
                result = function(new, None)
                data = None if result is None else encode_result(result)
            own = encode_key(key)
            take(_Step(own, was, old is not None, now, data, record.timestamp))

        return process


def _encoding(stage: ForeignSubscribe, known: dict[Any, _Foreign]) -> Callable[[Any], _Foreign]:
    """Return what encodes foreign keys, and notes them where equal ones have equal bytes."""
    encode, prefix_of = stage.foreign.serialize, prefixing(stage.stored)
    if not (stage.foreign.hashes_by_bytes and stage.stored.hashes_by_bytes):
        return lambda key: _Foreign(encode(key), prefix_of(key))

    def encoded(key: object) -> _Foreign:
        found = known.get(key)
        if found is None:
            found = known[key] = _Foreign(encode(key), prefix_of(key))
        return found

    return encoded


class _Sending:
    """Sends what a batch's steps come to."""

    def __init__(self, stage: ForeignSubscribe, context: EncodedContext) -> None:
        self._stage = stage
        self._context = context
        self._inner = stage.joiner.how == "inner"

    def send(self, steps: Sequence[_Step]) -> None:
        first: dict[bytes, _Step] = {}
        last: dict[bytes, _Step] = {}
        for step in steps:
            first.setdefault(step.own, step)
            last[step.own] = step
        subscriptions: list[tuple[bytes, bytes, int]] = []
        alone: list[tuple[bytes, bytes, int]] = []
        for own, before in first.items():
            step = last[own]
            was, now, time = before.was, step.now, step.time
            if was is not None and was != now:
                says = LEAVE_RESULT if self._inner and now is None else LEAVE
                subscriptions.append((was.key, subscription(says, was.prefix, own), time))
            if now is not None:
                says = MOVE if was is not None and was != now else ENTER
                data = subscription(says, now.prefix, own, step.data or b"")
                subscriptions.append((now.key, data, time))
            elif step.data is not None:
                alone.append((own, ROW_NOW + step.data, time))
            elif before.existed:
                alone.append((own, NO_ROW_NOW, time))
        self._forward(self._stage.subscriptions, subscriptions)
        if self._stage.alone is not None:
            self._forward(self._stage.alone, alone)

    def _forward(self, edge: str, rows: Sequence[tuple[bytes, bytes, int]]) -> None:
        binary = pa.binary()
        for start in range(0, len(rows), _AT_ONCE):
            keys, values, times = zip(*rows[start : start + _AT_ONCE], strict=True)
            table = encoded_table(pa.array(keys, binary), pa.array(values, binary), pa.array(times))
            self._context.forward_encoded(edge, table)
