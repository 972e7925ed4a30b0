"""Joins of tables by their keys and by foreign keys, and of streams with tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kstreams._types import K2, V2, K, V
from kstreams.errors import TopologyError
from kstreams.graph import nodes
from kstreams.joins.joiner import VO, Joiner, inner, left, outer
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import dashed
from kstreams.streams.checks import BOTH_VALUES, KEY_AND_VALUE, check_foreign_key, check_function
from kstreams.streams.facts import Facts, Made
from kstreams.streams.join_steps import Joinable, JoinCall
from kstreams.streams.plan import FreeName, Plan
from kstreams.streams.serdes import KnownSerde, needed
from kstreams.streams.stream import Stream
from kstreams.streams.stream_base import StreamBase

if TYPE_CHECKING:
    from kstreams.streams.table import Table

__all__ = ("TableJoins",)

_Rows = StoreSpec[TimestampedStore[K, V]] | str | None
_Inner = Callable[[V, V2], VO]
_Left = Callable[[V, V2 | None], VO]
_Outer = Callable[[V | None, V2 | None], VO]
_Group = Callable[[K, V], K2 | None]
_Joiner = Callable[[], Joiner[Any, Any, Any, Any]]


class TableJoins(Joinable[K, V]):
    """The joins of a table."""

    def join(
        self,
        other: Table[K, V2],
        joiner: _Inner[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join the rows of two tables by key; see `KTable#join`."""
        return self._joined_tables("join", joiner, inner(joiner), other, value, store)

    def left_join(
        self,
        other: Table[K, V2],
        joiner: _Left[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join each row with that of another table; the joiner gets None if there is none.

        Source: `KTable#leftJoin`.
        """
        return self._joined_tables("left-join", joiner, left(joiner), other, value, store)

    def outer_join(
        self,
        other: Table[K, V2],
        joiner: _Outer[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join the rows of both tables; the joiner gets None for a row that only one table has.

        Source: `KTable#outerJoin`.
        """
        return self._joined_tables("outer-join", joiner, outer(joiner), other, value, store)

    def join_by(
        self,
        other: Table[K2, V2],
        by: _Group[K, V, K2],
        joiner: _Inner[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join each row with a row of another table by a foreign key, which `by` returns.

        Source: `KTable#join(KTable, Function, ValueJoiner)` (KIP-213).
        """
        return self._joined_by("join", joiner, inner(joiner), other, by, value, store)

    def left_join_by(
        self,
        other: Table[K2, V2],
        by: _Group[K, V, K2],
        joiner: _Left[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join as `join_by`; the joiner gets None if there is no row. See `KTable#leftJoin`."""
        return self._joined_by("left-join", joiner, left(joiner), other, by, value, store)

    def _changes(self) -> Callable[[], nodes.Table[K, V]]:
        """Return the function that returns the table, and record that its changes are used."""
        raise NotImplementedError

    def _joined_tables(
        self,
        how: str,
        joiner: object,
        made: _Joiner,
        other: Table[K, Any],
        value: Serde[VO] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, VO]:
        call, plan = self._call(how.replace("-", "_"), joiner, BOTH_VALUES), self._plan
        right = _table(other, call)._facts
        result, _, type_ = self._joined_value(joiner, value, call, how, right)
        spec, name = self._rows(store, call, result, how, right.label)
        label = dashed(self._facts.label, right.label)
        one, two = self._changes(), other._changes()
        return _new_table(
            plan,
            self._facts.after(call, label=label, value=result, value_type=type_),
            plan.later(lambda: plan.builder.join_tables(str(name), one(), two(), made, store=spec)),
        )

    def _joined_by(
        self,
        how: str,
        joiner: object,
        made: _Joiner,
        other: Table[Any, Any],
        by: Callable[[K, V], Any],
        value: Serde[VO] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, VO]:
        call, plan = self._call(f"{how.replace('-', '_')}_by", joiner, BOTH_VALUES), self._plan
        check_function(by, KEY_AND_VALUE, call)
        check_foreign_key(by, self._result(by, None, call).type, _table(other, call)._facts, call)
        result, _, type_ = self._joined_value(joiner, value, call, how, other._facts)
        name = dashed(self._facts.label, how, other._facts.label)
        serdes = {"key": self._facts.key, "value": result}
        spec = self._store(store, name, call, timestamped_store, **serdes)
        rows = needed(self._facts.value, "value", call)
        one, two = self._changes(), other._changes()

        def make() -> nodes.Table[K, VO]:
            return plan.builder.join_foreign(
                spec.name, one(), two(), made, by=by, store=spec, value=rows
            )

        types = self._facts.made_key, Made(type_, call)
        facts = Facts(spec.name, call, spec.key, spec.value, *types)
        return _new_table(plan, facts, plan.later(make))

    def _rows(
        self, given: StoreSpec[Any] | str | None, call: str, value: KnownSerde, *parts: str
    ) -> tuple[StoreSpec[Any] | None, str | FreeName]:
        """Return the optional store of a derived table, and the name of its node."""
        if given is None:
            return None, self._free(*parts)
        serdes = {"key": self._facts.key, "value": value}
        spec = self._store(given, "", call, timestamped_store, **serdes)
        return spec, spec.name

    def _joined(self, stream: StreamBase[K, Any], call: JoinCall) -> Stream[K, Any]:
        plan, parent, table = self._plan, stream._take(), self._changes()
        name, execution = plan.free(call.name), call.execution
        return stream._stream(
            call.facts,
            lambda: plan.builder.join_table(
                str(name), parent(), table(), call.joiner, execution=execution
            ),
        )


def _table(other: Table[K, V], call: str) -> Table[K, V]:
    """Return the right side of a join of tables, if it is a table."""
    given: object = other
    if not isinstance(given, TableJoins):
        raise TopologyError(
            f"{call} got a {type(given).__name__} as its right side, expected a Table",
            hint="join the streams of changes, by to_stream(), or convert a stream by to_table().",
        )
    return other


def _new_table(plan: Plan, facts: Facts, table: Callable[[], nodes.Table[K, V]]) -> Table[K, V]:
    from kstreams.streams.table import Table  # noqa: PLC0415  # a table has these methods

    return Table(plan, facts, table)
