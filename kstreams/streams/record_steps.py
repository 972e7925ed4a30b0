"""Steps of a stream that handle each record separately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from kstreams._types import K2, V2, K, V
from kstreams.graph.nodes import Node
from kstreams.processors.filter import filter_, filter_not
from kstreams.processors.flat_map import flat_map
from kstreams.processors.flat_map_values import flat_map_values
from kstreams.processors.map import map_
from kstreams.processors.map_values import map_values
from kstreams.processors.peek import peek
from kstreams.processors.processor import BaseProcessor
from kstreams.processors.rekey import rekey
from kstreams.processors.supplier import Supplier
from kstreams.processors.transform import transform
from kstreams.processors.validate import Invalid
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.stored_names import dashed, kebab
from kstreams.streams.checks import KEY_AND_VALUE, ONE_RECORD, ONE_VALUE
from kstreams.streams.facts import Facts, Made, wrapped_type
from kstreams.streams.functions import element_of, itself, key_and_value_of, name_of
from kstreams.streams.serdes import Unknown, common_serde
from kstreams.streams.stream_base import StreamBase
from kstreams.streams.unions import T1, T2, T3, T4, Classes2, Classes3, Classes4

if TYPE_CHECKING:
    from typing import TypeGuard

    from typing_extensions import TypeIs

    from kstreams.streams.stream import Stream

__all__ = ("RecordSteps",)


class RecordSteps(StreamBase[K, V]):
    """The steps of a stream that handle each record separately."""

    def map_values(
        self, function: Callable[[V], V2], *, value: Serde[V2] | None = None
    ) -> Stream[K, V2]:
        """Replace each value by the result of a function; see `KStream#mapValues`."""
        return self._values("map-values", function, map_values(function), value)

    def flat_map_values(
        self, function: Callable[[V], Iterable[V2]], *, value: Serde[V2] | None = None
    ) -> Stream[K, V2]:
        """Replace each value by any number of values; see `KStream#flatMapValues`."""
        made: Supplier[K, V, K, V2] = flat_map_values(function)
        return self._values("flat-map-values", function, made, value, element_of)

    def map(
        self,
        function: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Replace each key and value by the pair that a function returns; see `KStream#map`."""
        return self._pairs("map", function, map_(function), key, value)

    def flat_map(
        self,
        function: Callable[[K, V], Iterable[tuple[K2, V2]]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Replace each key and value by any number of pairs; see `KStream#flatMap`."""
        made: Supplier[K, V, K2, V2] = flat_map(function)
        return self._pairs("flat-map", function, made, key, value, element_of)

    def transform(
        self,
        function: Callable[[Record[K, V]], Iterable[Record[K2, V2]]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
    ) -> Stream[K2, V2]:
        """Replace each record, with its time and headers, by any number of records.

        Source: `KStream#process` with a processor without a store.
        """
        made = transform(function)
        return self._pairs("transform", function, made, key, value, element_of, (object,))

    def select_key(
        self, function: Callable[[K, V], K2], *, key: Serde[K2] | None = None
    ) -> Stream[K2, V]:
        """Replace each key by the result of a function; see `KStream#selectKey`."""
        return self._rekeyed("select_key", function, key)

    def filter(self, predicate: Callable[[K, V], bool]) -> Stream[K, V]:
        """Keep the records for which a predicate is true; see `KStream#filter`."""
        call = self._call("filter", predicate, KEY_AND_VALUE)
        return self._kept("filter", predicate, filter_(predicate), call)

    def filter_not(self, predicate: Callable[[K, V], bool]) -> Stream[K, V]:
        """Drop the records for which a predicate is true; see `KStream#filterNot`."""
        call = self._call("filter_not", predicate, KEY_AND_VALUE)
        return self._kept("filter-not", predicate, filter_not(predicate), call)

    def only(self, type_: type[V2]) -> Stream[K, V2]:
        """Keep the records whose value is an object of a class, as `isinstance` checks it."""
        made: Any = filter_(partial(_is_a, type_))
        changes: dict[str, Any] = {**self._of_class(type_), "nulls": False}
        return self._kept("only", type_, made, self._call("only", type_), **changes)

    @overload
    def narrow(self, guard: Callable[[V], TypeIs[V2]]) -> Stream[K, V2]: ...
    @overload
    def narrow(self, guard: Callable[[V], TypeGuard[V2]]) -> Stream[K, V2]: ...
    def narrow(self, guard: Callable[[Any], bool]) -> Stream[K, Any]:
        """Keep the records whose value passes a type guard, a function that returns `TypeIs`."""
        made: Any = filter_(partial(_passes, guard))
        call = self._call("narrow", guard, ONE_VALUE)
        return self._kept("narrow", guard, made, call, value_type=object)

    def peek(self, function: Callable[[K, V], object]) -> Stream[K, V]:
        """Call a function with each key and value, at least once; see `KStream#peek`."""
        call = self._call("peek", function, KEY_AND_VALUE)
        return self._kept("peek", function, peek(function), call, must=False)

    def merge(self, *others: Stream[K, V]) -> Stream[K, V]:
        """Merge streams with the same types; see `KStream#merge`.

        Names of downstream state begin with the name of this stream.
        """
        call, streams, plan = self._call("merge"), [self, *others], self._plan
        all_ = [stream._facts for stream in streams]
        rules = [each.partitioner for each in all_]
        facts = self._facts.after(
            call,
            key_type=_common(each.made_key.type for each in all_),
            value_type=_common(each.made_value.type for each in all_),
            key=common_serde((each.key for each in all_), "key", call),
            value=common_serde((each.value for each in all_), "value", call),
            nulls=any(each.nulls for each in all_),
            null_keys=any(each.null_keys for each in all_),
            moved=any(each.moved for each in all_),
            delayed=any(each.delayed for each in all_),
            partitioner=rules[0] if all(rule == rules[0] for rule in rules) else None,
        )
        name, parents = self._free("merge"), [stream._take() for stream in streams]
        return self._stream(
            facts, lambda: plan.builder.merge(str(name), *(parent() for parent in parents))
        )

    def split(self, predicate: Callable[[K, V], bool]) -> tuple[Stream[K, V], Stream[K, V]]:
        """Divide the records into those for which a predicate is true, and the others.

        Names of downstream state have the name of the predicate, or `rest`; one of the streams may
        remain unused.

        Source: `KStream#split` with one `Branched` and a default branch.
        """
        call = self._call("split", predicate, KEY_AND_VALUE)
        same: dict[str, Any] = {}
        sides = [(name_of(predicate) or "true", same), ("rest", same)]
        true, rest = self._branches("split", [predicate], sides, call)
        return true, rest

    @overload
    def by_type(self, types: Classes2[V, T1, T2]) -> tuple[Stream[K, T1], Stream[K, T2]]: ...
    @overload
    def by_type(
        self, types: Classes3[V, T1, T2, T3]
    ) -> tuple[Stream[K, T1], Stream[K, T2], Stream[K, T3]]: ...
    @overload
    def by_type(
        self, types: Classes4[V, T1, T2, T3, T4]
    ) -> tuple[Stream[K, T1], Stream[K, T2], Stream[K, T3], Stream[K, T4]]: ...
    def by_type(self, types: Any) -> tuple[Stream[K, Any], ...]:
        """Divide the values of a union by class: `by_type(classes(Order, Refund))`.

        Type checkers reject classes that are not exactly those of the union. A value of another
        class is counted as dropped, with the reason `no-branch`.

        Source: `KStream#split` with a `Branched` for each class.
        """
        tests = [partial(_is_a, each) for each in types.types]
        sides = [(kebab(each.__name__), self._of_class(each)) for each in types.types]
        return tuple(self._branches("by-type", tests, sides, self._call("by_type")))

    def validate(
        self, check: Callable[[K, V], str | None]
    ) -> tuple[Stream[K, V], Stream[K, Invalid[V]]]:
        """Divide records into valid ones and invalid ones, the latter with a reason.

        `check` returns None or the reason; see `TopologyBuilder.validate`.
        """
        call = self._call("validate", check, KEY_AND_VALUE)
        parent, plan = self._take(), self._plan
        name = self._free("validate", name_of(check))
        both = plan.later(lambda: plan.builder.validate(str(name), parent(), check))
        good = self._facts.after(call)
        unknown = Unknown(
            f"an Invalid[...] value has no serde, replace it with map_values(...): {call}"
        )
        label, wrapped = dashed(good.label, "invalid"), wrapped_type(Invalid, good)
        bad = good.after(call, label=label, value=unknown, value_type=wrapped)
        valid = self._stream(good, lambda: both()[0], must=False)
        return valid, self._stream(bad, lambda: both()[1], must=False)

    def _rekeyed(
        self, operation: str, function: Callable[[K, V], K2], key: Serde[K2] | None
    ) -> Stream[K2, V]:
        facts = self._with_keys_of(operation, function, key)
        return self._then(self._plan.free(facts.label), rekey(function), facts)

    def _values(
        self,
        operation: str,
        function: object,
        supplier: Callable[[], BaseProcessor[K, V, K, V2]],
        value: Serde[V2] | None,
        pick: Callable[[object], object] = itself,
    ) -> Stream[K, V2]:
        """Add a step that creates values under the same keys."""
        call = self._call(operation.replace("-", "_"), function, ONE_VALUE)
        made, nulls, type_ = self._result(function, value, call, pick, self._facts.value_types())
        changes: dict[str, Any] = {"value": made, "value_type": type_, "nulls": nulls}
        return self._kept(operation, function, supplier, call, **changes)

    def _pairs(
        self,
        operation: str,
        function: object,
        supplier: Callable[[], BaseProcessor[K, V, K2, V2]],
        key: Serde[K2] | None,
        value: Serde[V2] | None,
        pick: Callable[[object], object] = itself,
        types: Sequence[object] | None = None,
    ) -> Stream[K2, V2]:
        """Add a step that creates keys and values."""
        arguments = KEY_AND_VALUE if types is None else ONE_RECORD
        call = self._call(operation.replace("-", "_"), function, arguments)
        keys, values = (
            self._result(function, given, call, partial(_side, pick, side), types)
            for side, given in enumerate((key, value))
        )
        label = dashed(self._facts.label, name_of(function) or operation)
        made = Made(keys.type, call), Made(values.type, call)
        nulls = values.nulls, keys.nulls
        facts = Facts(label, call, keys.serde, values.serde, *made, *nulls, moved=True)
        return self._then(self._plan.free(label), supplier, facts)

    def _of_class(self, type_: type[Any]) -> dict[str, Any]:
        """Return the changed attributes of `Facts` for the values of one class of a union.

        The serde is that of the class, or else of the union.
        """
        found = self._plan.serdes.of(type_, "")
        serde = found if isinstance(found, Serde) else self._facts.value
        return {"value": serde, "value_type": type_}

    def _branches(
        self,
        operation: str,
        predicates: Sequence[Callable[[K, V], bool]],
        sides: Sequence[tuple[str, dict[str, Any]]],
        call: str,
    ) -> Iterator[Stream[K, V]]:
        plan, parent, labels = self._plan, self._take(), [label for label, _ in sides]
        name, tests = self._free(operation), dict(zip(labels, predicates, strict=False))
        rest = labels[-1] if len(labels) > len(predicates) else None
        made = plan.later(lambda: plan.builder.branch(str(name), parent(), tests, default=rest))
        for label, changes in sides:
            facts = self._facts.after(call, label=dashed(self._facts.label, label), **changes)
            yield self._stream(facts, partial(_branch, made, label), must=False)


def _common(types: Iterable[object]) -> object:
    """Return the type that all streams have; `object` if theirs differ."""
    first, *others = types
    return first if all(other == first for other in others) else object


def _side(pick: Callable[[object], object], side: int, hint: object) -> object:
    return key_and_value_of(pick(hint))[side]


def _branch(made: Callable[[], dict[str, Node[K, V]]], label: str) -> Node[K, V]:
    return made()[label]


def _is_a(type_: type, _: object, value: object) -> bool:
    return isinstance(value, type_)


def _passes(guard: Callable[[Any], bool], _: object, value: object) -> bool:
    return guard(value)
