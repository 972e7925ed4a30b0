"""Joins of a stream: with tables, with other streams, and by any key with global tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic

from kstreams._types import K2, V2, K, V
from kstreams.errors import TopologyError
from kstreams.graph.global_tables import GlobalTable as GlobalHandle
from kstreams.joins.joiner import VO, Joiner, inner, left, outer
from kstreams.joins.lookups.look_up import look_up
from kstreams.joins.lookups.service import Service
from kstreams.joins.within import Within, within
from kstreams.options import checks_options
from kstreams.processors.columns import Execution
from kstreams.serde.base import Serde
from kstreams.state.stores.join.kind import join_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.stored_names import dashed
from kstreams.streams.checks import (
    BOTH_VALUES,
    KEY_AND_VALUE,
    check_foreign_key,
    check_function,
    checks_first,
)
from kstreams.streams.facts import Facts
from kstreams.streams.functions import name_of
from kstreams.streams.part import Part
from kstreams.streams.plan import call_of
from kstreams.streams.record_steps import RecordSteps
from kstreams.streams.stream_base import StreamBase

if TYPE_CHECKING:
    from kstreams.streams.stream import Stream

__all__ = ("GlobalTable", "JoinCall", "JoinSteps", "Joinable", "Near")

_Inner = Callable[[V, V2], VO]
_Left = Callable[[V, V2 | None], VO]
_Outer = Callable[[V | None, V2 | None], VO]
_Answers = StoreSpec[KeyValueStore[K2, V2]] | None


@dataclass(frozen=True)
class JoinCall:
    """A join of a stream.

    Attributes:
        name: The default name of the join's node or store.
        source: The stream on which the user called the join.
        joiner: Creates the joiner.
        facts: The properties of the results.
        execution: By records or by columns.
    """

    name: str
    source: StreamBase[Any, Any]
    joiner: Callable[[], Joiner[Any, Any, Any, Any]]
    facts: Facts
    execution: Execution


class Joinable(Part[K, V]):
    """The right side of a join by key.

    A `Table`, a table as of a time (`VersionedTable.as_of`), or a stream near in time
    (`Stream.within`).
    """

    def _joined(self, stream: StreamBase[K, Any], call: JoinCall) -> Stream[K, Any]:
        """Join a stream with this side, and return the results; equal keys are in one task."""
        raise NotImplementedError


class GlobalTable(Part[K, V]):
    """A table whose rows every task can read by any key; joined with `Stream.join_by`.

    Source: `org.apache.kafka.streams.kstream.GlobalKTable`.
    """

    def __init__(self, part: Part[K, V], handle: Callable[[], GlobalHandle[K, V]]) -> None:
        super().__init__(part._plan, part._facts)
        self._handle = handle


def _wrong_side(call: str, other: object) -> TopologyError:
    """Return the error for a right side of the wrong kind; the hint is the call for its kind."""
    hints = {
        "Stream": "join(other.within(minutes(5), grace=minutes(1)), ...) joins two streams.",
        "GlobalTable": "join_by(table, lambda key, value: ..., joiner) joins a global table.",
        "Service": "join_by(service, lambda key, value: ..., joiner) asks a service.",
        "Table": "select_key(...).join(table, joiner) joins a table by another key.",
    }
    kinds = [each.__name__ for each in type(other).__mro__]
    found = next((kind for kind in kinds if kind in hints), "Stream")
    between = " without a range of times" if "Stream" in kinds else ""
    return TopologyError(f"{call} got a {kinds[0]}{between} as its right side", hint=hints[found])


def _check_right_side(other: object, operation: str) -> None:
    """Check that the right side of a join by any key is a global table or a service."""
    if not isinstance(other, (GlobalTable, Service)):
        raise _wrong_side(call_of(operation, "..."), other)


class JoinSteps(RecordSteps[K, V]):
    """The joins of a stream."""

    def within(
        self, before: timedelta, after: timedelta | None = None, *, grace: timedelta
    ) -> Near[K, V]:
        """Return this stream as the right side of a join of records with nearby times.

        Args:
            before: Maximum time by which a record precedes its partner on the left, inclusive.
            after: Maximum time by which it follows its partner, inclusive; `before` by default.
            grace: Maximum delay of records behind stream time.

        Source: `org.apache.kafka.streams.kstream.JoinWindows`.
        """
        return Near(self, within(before, after, grace=grace))

    @checks_options
    def join(
        self,
        other: Joinable[K, V2],
        joiner: _Inner[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        execution: Execution = "auto",
    ) -> Stream[K, VO]:
        """Join each record with the row of a table, or with nearby records of a stream.

        Args:
            other: A table, `table.as_of(grace=...)` or `stream.within(minutes(5), grace=...)`.
            joiner: Returns the result of a left and a right value.
            value: The serde of the results.
            execution: By records or by columns, as for `TopologyBuilder.join_table`.

        Source: `KStream#join`.
        """
        return self._join("join", joiner, inner(joiner), other, value, execution)

    @checks_options
    def left_join(
        self,
        other: Joinable[K, V2],
        joiner: _Left[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        execution: Execution = "auto",
    ) -> Stream[K, VO]:
        """Join each record; the right value is None without a partner; see `KStream#leftJoin`."""
        return self._join("left-join", joiner, left(joiner), other, value, execution)

    @checks_options
    def outer_join(
        self,
        other: Near[K, V2],
        joiner: _Outer[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        execution: Execution = "auto",
    ) -> Stream[K, VO]:
        """Join the records of two streams; a missing partner is None; see `KStream#outerJoin`."""
        return self._join("outer-join", joiner, outer(joiner), other, value, execution)

    @checks_first(_check_right_side)
    @checks_options
    def join_by(
        self,
        other: GlobalTable[K2, V2] | Service[K2, V2],
        by: Callable[[K, V], K2 | None],
        joiner: _Inner[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Answers[K2, V2] = None,
    ) -> Stream[K, VO]:
        """Join each record with the row of a global table, or the answer of a service, by any key.

        Args:
            other: A global table or a service.
            by: Returns the key of the row, or the question; None for no row.
            joiner: Returns the result of the record's value and the row or answer.
            value: The serde of the results.
            store: The store of a service's answers; see `look_up`.

        Source: `KStream#join(GlobalKTable)`.
        """
        return self._join_by("join", joiner, inner(joiner), other, by, value, store)

    @checks_first(_check_right_side)
    @checks_options
    def left_join_by(
        self,
        other: GlobalTable[K2, V2] | Service[K2, V2],
        by: Callable[[K, V], K2 | None],
        joiner: _Left[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Answers[K2, V2] = None,
    ) -> Stream[K, VO]:
        """Join as `join_by`; without a row or an answer, the joiner gets None."""
        return self._join_by("left-join", joiner, left(joiner), other, by, value, store)

    def _join(
        self,
        how: str,
        joiner: object,
        made: Callable[[], Joiner[Any, Any, Any, Any]],
        other: Joinable[K, Any],
        value: Serde[VO] | None,
        execution: Execution,
    ) -> Stream[K, VO]:
        call = self._call(how.replace("-", "_"), joiner, BOTH_VALUES)
        if not isinstance(other, Joinable):
            raise _wrong_side(call, other)
        right = other._facts
        result, nulls, type_ = self._joined_value(joiner, value, call, how, right)
        stream = self._by_key(call, right)
        facts = stream._facts.after(call, value=result, value_type=type_, nulls=nulls)
        name = dashed(self._facts.label, how, right.label)
        return other._joined(stream, JoinCall(name, self, made, facts, execution))

    def _join_by(
        self,
        how: str,
        joiner: object,
        made: Callable[[], Joiner[Any, Any, Any, Any]],
        other: GlobalTable[K2, V2] | Service[K2, V2],
        by: Callable[[K, V], K2 | None],
        value: Serde[VO] | None,
        store: _Answers[K2, V2],
    ) -> Stream[K, VO]:
        call = self._call(f"{how.replace('-', '_')}_by", joiner, BOTH_VALUES)
        check_function(by, KEY_AND_VALUE, call)
        right = other._facts if isinstance(other, GlobalTable) else None
        if right is not None:
            check_foreign_key(by, self._result(by, None, call).type, right, call)
        parent, plan = self._take(), self._plan
        result, nulls, type_ = self._joined_value(joiner, value, call, how, right)
        facts = self._facts.after(call, value=result, value_type=type_, nulls=nulls)
        if isinstance(other, Service):
            supplier = look_up(other, made, by=by, store=store)
            return self._then(self._free("ask", name_of(other.ask)), supplier, facts)
        name, table = self._free(how, other._facts.label), other._handle
        return self._stream(
            facts, lambda: plan.builder.join_global(str(name), parent(), table(), made, by=by)
        )


class Near(Joinable[K, V], Generic[K, V]):
    """The right side of a join of records with nearby times; created by `Stream.within`."""

    def __init__(self, stream: StreamBase[K, V], span: Within) -> None:
        super().__init__(stream._plan, stream._facts)
        self._right = stream
        self._span = span

    def _joined(self, stream: StreamBase[K, Any], call: JoinCall) -> Stream[K, Any]:
        facts, own, plan = call.facts, self._facts, self._plan
        is_itself = self._right in (stream, call.source)
        is_inner = call.joiner().how == "inner"  # no record of an inner join is late
        left = stream if is_inner else stream._in_time(facts.call, own)
        align = self._right._by_key if is_inner else self._right._in_time
        right = left if is_itself else align(facts.call, left._facts)
        serdes = {"key": left._facts.key, "left": left._facts.value, "right": own.value}
        spec = self._store(None, call.name, facts.call, join_store, **serdes)
        name, span, execution = spec.name, self._span, call.execution
        one, two = left._take(), right._take()
        label, rule = dashed(facts.label, own.label), left._facts.partitioner
        delayed = left._facts.delayed or right._facts.delayed
        return stream._stream(
            replace(facts, label=label, key=left._facts.key, delayed=delayed, partitioner=rule),
            lambda: plan.builder.join_streams(
                name, one(), two(), call.joiner, within=span, store=spec, execution=execution
            ),
        )
