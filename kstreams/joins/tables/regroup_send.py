"""The first stage of `regroup`: send changes of table rows to the tasks of their groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.joins.encoded_output import encoded_context, encoded_table
from kstreams.joins.tables.change_serde import change_bytes
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.processors.emission import EachUpdate, OncePerBatch
from kstreams.record import Record
from kstreams.serde.base import Serde

__all__ = ("RegroupSend",)

_AT_ONCE = 8_192
"""Maximum number of rows in a table that is sent."""


@dataclass(frozen=True)
class RegroupSend:
    """Creates the processors that send changes to groups.

    If the old and the new value of a row belong to the same group, they are sent as one record, so
    that a failure downstream affects both. A row without a group (None) is removed from its earlier
    group. Keys and values are encoded while their record is processed, so that a failure is
    attributed to that record. Changes that are not the latest version of a row are ignored.

    Args:
        by: Returns the group of a row from its key and value; None for no group.
        key: Serde of the table's keys.
        value: Serde of the table's values.
        group: Serde of the groups.
        edge: Name of the edge to the tasks of groups.
        emit: Whether to send every change, or only the net change of each key in a batch.

    Source: `KTableRepartitionMap` of Kafka Streams.
    """

    by: Callable[[Any, Any], Any]
    key: Serde[Any]
    value: Serde[Any]
    group: Serde[Any]
    edge: str
    emit: EachUpdate | OncePerBatch

    def __call__(self) -> _Send:
        """Return a new processor."""
        return _Send(self)


_Member = tuple[bytes, bytes]
"""A group and a row's value, encoded."""


class _Step(NamedTuple):
    """An encoded change of a row: its old and its new group and value; None for no group."""

    own: bytes
    was: _Member | None
    now: _Member | None
    time: int


class _Send(ClosureProcessor[Any, "Change[Any]", Any, Any]):
    keeps_key: ClassVar[bool] = False

    def __init__(self, stage: RegroupSend) -> None:
        self._stage = stage

    def bind(self, context: ProcessorContext[Any, Any]) -> Callable[[Record[Any, Any]], None]:
        stage, forward = self._stage, encoded_context(context).forward_encoded
        by, edge = stage.by, stage.edge
        encode_key, encode_value = stage.key.ordered.serialize, stage.value.serialize
        encode_group, binary = stage.group.serialize, pa.binary()

        def send(steps: Sequence[_Step]) -> None:
            rows = list(_moves(steps))
            for start in range(0, len(rows), _AT_ONCE):
                keys, values, times = zip(*rows[start : start + _AT_ONCE], strict=True)
                columns = pa.array(keys, binary), pa.array(values, binary), pa.array(times)
                forward(edge, encoded_table(*columns))

        take: Callable[[_Step], None] = context.hold(send)
        if isinstance(stage.emit, EachUpdate):
            take = lambda step: send((step,))  # noqa: E731  # the other is a value too

        def member(key: object, value: object) -> _Member | None:
            group = None if value is None else by(key, value)
            return None if group is None else (encode_group(group), encode_value(value))

        def process(record: Record[Any, Change[Any]]) -> None:
            key, change = record.key, record.value
            if not change.latest or (change.new is None and change.old is None):
                return
            was, now = member(key, change.old), member(key, change.new)
            if was is not None or now is not None:
                take(_Step(encode_key(key), was, now, record.timestamp))

        return process


def _moves(steps: Sequence[_Step]) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield the group, the change and the time (ms) of each record to send."""
    first: dict[bytes, _Step] = {}
    last: dict[bytes, _Step] = {}
    for step in steps:
        first.setdefault(step.own, step)
        last[step.own] = step
    for own, before in first.items():
        was, now, time = before.was, last[own].now, last[own].time
        if was == now:
            continue
        if was is not None and now is not None and was[0] == now[0]:
            yield was[0], change_bytes(was[1], now[1]), time
            continue
        if was is not None:
            yield was[0], change_bytes(was[1], None), time
        if now is not None:
            yield now[0], change_bytes(None, now[1]), time
