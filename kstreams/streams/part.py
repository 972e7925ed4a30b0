"""The common base of streams and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple

from kstreams._types import K, V
from kstreams.expressions.function import TreeFunction
from kstreams.graph.tokens import without_none
from kstreams.joins.common_joiners import left_value, right_value
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.stored_names import dashed
from kstreams.streams.checks import KEY_AND_VALUE, check_function, check_given
from kstreams.streams.facts import Facts
from kstreams.streams.functions import (
    UndeclaredError,
    itself,
    may_be_none,
    name_of,
    returned,
    title_of,
)
from kstreams.streams.plan import FreeName, Plan, call_of
from kstreams.streams.serdes import KnownSerde, Unknown, needed_each, type_of

__all__ = ("Part", "Result")


class Result(NamedTuple):
    """The serde and the type of a function's results, and whether these may be None."""

    serde: KnownSerde
    nulls: bool
    type: object


class Part(Generic[K, V]):
    """Base class of streams and tables.

    Args:
        plan: The plan of the topology.
        facts: The properties of the stream or table that its types do not have.
    """

    def __init__(self, plan: Plan, facts: Facts) -> None:
        self._plan = plan
        self._facts = facts

    def __repr__(self) -> str:
        """Return the class, and the call that created the object."""
        return f"<{type(self).__name__} of {self._facts.call}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the topology so far, as text and as a diagram, by MIME type, for notebooks."""
        found = self._plan.picture()
        return {**found, "text/plain": f"{self!r} in\n{found['text/plain']}"}

    def _call(
        self, operation: str, function: object = None, arguments: tuple[str, ...] = ()
    ) -> str:
        """Return a call with its file and line.

        Args:
            operation: The name of the method.
            function: The argument to show, a function or a class.
            arguments: The names of the arguments that the function will get; if there are any, the
                function is checked.
        """
        call = call_of(operation, "" if function is None else title_of(function))
        if arguments:
            check_function(function, arguments, call)
        return call

    def _free(self, *parts: str) -> FreeName:
        """Return the name of a node without state."""
        return self._plan.free(dashed(self._facts.label, *parts))

    def _result(
        self,
        function: object,
        given: Serde[Any] | None,
        call: str,
        pick: Callable[[object], object] = itself,
        types: Sequence[object] | None = None,
    ) -> Result:
        """Return the serde of a function's results.

        Args:
            function: The function.
            given: The serde that the call has, which has precedence.
            call: The call with the function.
            pick: Returns the part of the function's type that the serde is for.
            types: The types of the function's arguments; by default those of key and value.
        """
        if types is None:
            types = self._facts.argument_types()
        try:
            hint = pick(self._returned(function, types))
        except UndeclaredError as exc:
            unknown: KnownSerde = Unknown(f"{exc}: {call}")
            if exc.argument is not None and isinstance(exc.argument.cause, Unknown):
                unknown = exc.argument.cause
            return Result(given or unknown, nulls=False, type=type_of(given or unknown))
        if given is not None:
            check_given(hint, given, call)
        found = given or self._plan.serdes.of(hint, call)
        return Result(found, may_be_none(hint), without_none(hint))

    def _returned(self, function: object, types: Sequence[object]) -> object:
        """Return the type of a function's results.

        Raises:
            UndeclaredError: The type is neither declared nor determined by the operations.
        """
        try:
            return returned(function, types)
        except UndeclaredError:
            if not isinstance(function, TreeFunction):
                raise
            facts = (self._facts.key, self._facts.value)
            key, value = (each if isinstance(each, Serde) else None for each in facts)
            made: object = function.made_type(key, value)
            if made is None:
                raise
            return made

    def _with_keys_of(self, operation: str, function: object, given: Serde[Any] | None) -> Facts:
        """Return the properties of the stream or table after a function has replaced the keys."""
        call, by = self._call(operation, function, KEY_AND_VALUE), name_of(function)
        found, nulls, type_ = self._result(function, given, call)
        label = dashed(self._facts.label, f"by-{by}" if by else "rekeyed")
        options: dict[str, Any] = {"null_keys": nulls, "moved": True}
        return self._facts.after(call, label=label, key=found, key_type=type_, **options)

    def _joined_value(
        self, joiner: object, given: Serde[Any] | None, call: str, how: str, right: Facts | None
    ) -> Result:
        """Return the serde of a joiner's results, which may be the values of one side.

        Args:
            joiner: The joiner.
            given: The serde that the call has.
            call: The call with the joiner.
            how: `join`, `left-join` or `outer-join`.
            right: The properties of the right side; None for a service.
        """
        left, outer = self._facts, how == "outer-join"
        if joiner is left_value:
            return Result(given or left.value, outer, left.made_value.type)
        if joiner is right_value and right is not None:
            return Result(given or right.value, how != "join", right.made_value.type)
        other = right.value_argument(may_be_null=how != "join") if right is not None else object
        types = (left.value_argument(may_be_null=outer), other)
        return self._result(joiner, given, call, types=types)

    def _store(
        self,
        given: StoreSpec[Any] | str | None,
        name: str,
        call: str,
        make: Callable[..., StoreSpec[Any]],
        **serdes: KnownSerde,
    ) -> StoreSpec[Any]:
        """Return the definition of a store.

        Args:
            given: The definition, or only the name; None for the default name.
            name: The default name, which states the contents of the store.
            call: The call that needs the store.
            make: Defines a store of the right kind.
            serdes: The serdes of the store, by the names of the arguments of `make`.
        """
        if isinstance(given, StoreSpec):
            self._plan.owned(given.name, call)
            return given
        own = self._plan.owned(given or name, call)
        return make(own, **needed_each(serdes, call))
