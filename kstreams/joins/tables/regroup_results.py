"""The second stage of `regroup`: aggregate the rows of each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import InvertibleAggregator, aggregator_parameters
from kstreams.aggregators.exact_sum import unrounded
from kstreams.joins.change import Change
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import StoreParameters
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import INT64
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("RegroupResults",)


@dataclass(frozen=True)
class RegroupResults:
    """Creates the processors that aggregate groups, and declares their stores.

    The old value of a row is removed before the new one is added. A group without rows has no
    result; its next row starts from an empty state. The number of rows of a group is in a separate
    store, because the aggregated state does not contain it. If the aggregator rounds its states,
    that store also has the exact states.

    Args:
        aggregator: Aggregates a group.
        store: The store of the results.

    Source: `KTableAggregate` of Kafka Streams, which adds before it subtracts if a row stays in its
    group, and whose groups are never removed.
    """

    aggregator: InvertibleAggregator[Any, Any, Any, Any]
    store: StoreSpec[Any]

    def __call__(self) -> _Results:
        """Return a new processor."""
        return _Results(self)

    @property
    def members(self) -> StoreSpec[Any]:
        """Return the definition of the store of row counts and, if any, exact states by group."""
        store, exact = self.store, unrounded(self.aggregator)
        value: Serde[Any] = INT64 if exact is None else TupleSerde(INT64, exact.state)
        spec = key_value_store(f"{store.name}-members", key=store.key, value=value)
        if store.changelog is None:
            return spec
        return spec.with_changelog(f"{store.changelog}-members")

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store of results and the store of row counts."""
        return self.store, self.members

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters of the aggregator, on which the stored states depend."""
        own = aggregator_parameters(self.aggregator)
        return {self.store.name: own, self.members.name: own}


class _Results(ClosureProcessor[Any, "Change[Any]", Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, stage: RegroupResults) -> None:
        self._stage = stage

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Change[Any]]], None]:
        stage = self._stage
        rows: TimestampedRows[Any, Any] = TimestampedRows.of(context.store(stage.store))
        members: Any = context.store(stage.members)
        get, put = rows.reader(), rows.writer()
        drop, forward, result = context.drop, context.forward, stage.aggregator.result
        changed = _changed(stage.aggregator)

        def process(record: Record[Any, Change[Any]]) -> None:
            group, change, latest = record.key, record.value, record.timestamp
            before = get(group)
            state, old = None, None
            if before is not None:
                state, old = before[0], result(before[0])  # before it may be changed in place
                latest = max(before[1], latest)
            elif change.old is not None:
                drop("not-in-group")
                change = Change(change.new, None)
                if change.new is None:
                    return
            kept, state = changed(members.get(group), state, change, record)
            if kept is None:
                members.delete(group)
            else:
                members.put(group, kept)
            put(group, None if state is None else (state, latest))
            new = None if state is None else result(state)
            forward(Record(group, Change(new, old), latest))

        return process


_Changed = Callable[[Any, Any, "Change[Any]", Record[Any, Any]], tuple[Any, Any]]
"""Takes a group's row count entry, its state and a change; returns the new entry and state."""
_Step = Callable[[int, Any, "Change[Any]", Record[Any, Any]], tuple[int, Any]]
"""Takes a group's number of rows, its state and a change; returns the new number and state."""

_EMPTY: tuple[int, Any] = (0, None)


def _changed(aggregator: InvertibleAggregator[Any, Any, Any, Any]) -> _Changed:
    exact: InvertibleAggregator[Any, Any, Any, Any] | None = unrounded(aggregator)
    return _counting(_step(aggregator)) if exact is None else _rounding(_step(exact), exact.result)


def _step(aggregator: InvertibleAggregator[Any, Any, Any, Any]) -> _Step:
    init, add, remove = aggregator.init, aggregator.add, aggregator.remove

    def step(
        count: int, state: object, change: Change[Any], record: Record[Any, Any]
    ) -> tuple[int, Any]:
        if change.old is not None:
            count -= 1
            state = remove(state, record.with_value(change.old)) if count else None
        if change.new is not None:
            added = record.with_value(change.new)
            state = add(state, added) if count else init(added)
            count += 1
        return count, state

    return step


def _counting(step: _Step) -> _Changed:
    """Return a function that applies a change to a group that stores only its number of rows.

    The function takes and returns the number (None for no rows) and the group's state.

    Args:
        step: Applies a change to a number of rows and a state.
    """

    def counting(
        kept: int | None, state: object, change: Change[Any], record: Record[Any, Any]
    ) -> tuple[Any, Any]:
        count, state = step(kept or 0, state, change, record)
        return count or None, state

    return counting


def _rounding(step: _Step, rounded: Callable[[Any], Any]) -> _Changed:
    """Return a function that applies a change to a group that stores its row count and exact state.

    The function returns the new count and exact state as a pair, and the rounded state; None for
    both if the group has no rows.

    Args:
        step: Applies a change to a number of rows and an exact state.
        rounded: Rounds an exact state.
    """

    def rounding(
        kept: tuple[int, Any] | None, _: object, change: Change[Any], record: Record[Any, Any]
    ) -> tuple[Any, Any]:
        count, state = step(*(kept or _EMPTY), change, record)
        return ((count, state), rounded(state)) if count else (None, None)

    return rounding
