"""Join a stream with itself: its records are remembered once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.columns.keys import has_key_codes
from kstreams.joins.closing import Closing
from kstreams.joins.columns.self_join import SelfJoinColumns
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.joiner import Joiner
from kstreams.joins.partners import partner_finder, remembering
from kstreams.joins.terms import Terms
from kstreams.joins.within import Within
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.join.coding import CLOCKS, SETTLED
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import NO_CLOCKS, Setup
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import FAR_MS

__all__ = ("SelfJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class SelfJoin:
    """Makes the processors of `join_streams` for one stream on both sides.

    Each two records make a pair in either direction that `within` allows, once; each record
    one with itself, so that none goes out alone but for null keys.

    Args:
        joiner: Of any kind.
        within: How near the records are.
        store: What is remembered: a `join_store`, of which the left side is used.
        execution: How the node is to run.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamKStreamSelfJoin`.
    """

    joiner: Joiner[Any, Any, Any, Any]
    within: Within
    store: StoreSpec[Any]
    execution: Execution = "auto"

    def __call__(self) -> _SelfJoin:
        """Return a new processor."""
        return _SelfJoin(self)

    @property
    def join_terms(self) -> Terms:
        """Return which records without a partner give a result, and how near partners are."""
        return {"how": self.joiner.how, **self.within.terms}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)

    def column_join(self, left: ColumnSource, right: ColumnSource) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none."""
        if not has_key_codes(left.key):
            return f"keys of {left.key.name} are compared by their objects"
        return SelfJoinColumns(self.within, self.joiner, self.store, (left, left))


class _SelfJoin(ClosureJoinProcessor[Any, Any, Any, Any, Any]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: SelfJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> tuple[_Process, _Process]:
        joiner = self._join.joiner
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._join.store))
        setup = rows.set_up(Setup.of(*self._join.within.spans_ms))
        rows.unpack()
        before, after, memory = setup.before, setup.after, setup.memory
        rows.drop_open(FAR_MS)
        get, forward, function = rows.overlay.get, context.forward, joiner.function
        find = partner_finder(rows, setup.width)
        remember = remembering(rows, Closing(rows, setup, joiner, context), 0)
        reach = max(before, after)

        def process(record: Record[Any, Any]) -> None:
            key, value, time = record.key, record.value, record.timestamp
            if key is None or value is None:
                _pass_null_key(context, joiner, record)
                return
            clocks = get(CLOCKS) or NO_CLOCKS
            first, last = max(time - reach, clocks[1] - memory + 1), time + reach
            headers = record.headers
            for other_time, _, _, other in find(0, key, first, last, -FAR_MS)[0]:
                when = max(time, other_time)
                if -before <= other_time - time <= after:
                    forward(Record(key, function(value, other), when, headers))
                if -before <= time - other_time <= after:
                    forward(Record(key, function(other, value), when, headers))
            forward(record.with_value(function(value, value)))
            remember(clocks, key, value, time, SETTLED)

        return process, found_in_store


def _pass_null_key(
    context: ProcessorContext[Any, Any],
    joiner: Joiner[Any, Any, Any, Any],
    record: Record[Any, Any],
) -> None:
    """Forward a record that has no key or value, where the joiner wants that; else drop it."""
    if record.value is None or joiner.how == "inner":
        context.drop("null-value" if record.value is None else "null-key")
        return
    context.forward(record.with_value(joiner.function(record.value, None)))
    if joiner.how == "outer":
        context.forward(record.with_value(joiner.function(None, record.value)))
