"""The first stage of a foreign-key join: send left rows to the tasks of their foreign keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.joins.encoded_output import encoded_context
from kstreams.joins.foreign.foreign_keys import Foreign, ForeignKeys, ForeignNames
from kstreams.joins.foreign.foreign_sending import ForeignSending, Steps, Subscribing
from kstreams.joins.foreign.subscribe_columns import ForeignSubscribeColumns
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.column_form import Input, Need, NodeForm
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record

__all__ = ("ForeignSubscribe",)


@dataclass(frozen=True)
class ForeignSubscribe(Subscribing):
    """Creates the processors that send subscriptions for changes of the left table.

    For each key and batch, the net change is sent. A task that processes single records encodes
    keys, values and results while it processes the record, so that a failure is attributed to that
    record. Changes that are not the latest version of a row are ignored.

    Source: `SubscriptionSendProcessorSupplier` of Kafka Streams.
    """

    def __call__(self) -> _Subscribe:
        """Return a new processor."""
        return _Subscribe(self)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose input is changes."""
        return NodeForm((Need.COLUMNS,), self._by_columns, follower=True)

    def _by_columns(self, rows: Input) -> ColumnProcessor:
        return ForeignSubscribeColumns(self)


class _Step(NamedTuple):
    """A change of a left row, encoded; see `Steps`."""

    own: bytes
    was: Foreign | None
    existed: bool
    now: Foreign | None
    data: bytes | None
    time: int


class _Subscribe(ClosureProcessor[Any, "Change[Any]", Any, Any]):
    keeps_key: ClassVar[bool] = False

    def __init__(self, stage: ForeignSubscribe) -> None:
        self._stage = stage

    def bind(self, context: ProcessorContext[Any, Any]) -> Callable[[Record[Any, Any]], None]:
        stage = self._stage
        by, encode_key, encode_value = stage.by, stage.key.serialize, stage.value.serialize
        foreign = ForeignKeys(stage.foreign, stage.stored)
        encoded = foreign.encoded
        alone = stage.alone is not None
        function, encode_result = stage.joiner.function, stage.result.serialize
        sending = ForeignSending(stage, encoded_context(context))

        def release(steps: Sequence[_Step]) -> None:
            foreign.forget()
            sending.send(*_columns(steps))

        take = context.hold(release)

        def named(key: object, value: object) -> Foreign | None:
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


def _columns(steps: Sequence[_Step]) -> tuple[Steps, ForeignNames]:
    """Return the net change of each row over all of its changes, and the encoded foreign keys."""
    last = {step.own: step for step in steps}
    first = {step.own: step for step in reversed(steps)}
    ends, begins = list(last.values()), [first[own] for own in last]
    keys = [step.was for step in begins] + [step.now for step in ends]
    numbers, names = ForeignKeys.numbered(keys)
    found = Steps(
        pa.array(list(last), pa.binary()),
        numbers[: len(ends)],
        np.array([step.existed for step in begins], bool),
        numbers[len(ends) :],
        pa.array([step.data for step in ends], pa.binary()),
        np.array([step.time for step in ends], np.int64),
    )
    return found, names
