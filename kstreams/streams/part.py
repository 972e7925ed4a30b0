"""The common base of streams and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple

from kstreams._types import K, V
from kstreams.joins.common_joiners import left_value, right_value
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.stored_names import dashed
from kstreams.streams.functions import (
    UndeclaredError,
    itself,
    may_be_none,
    name_of,
    returned,
    title_of,
)
from kstreams.streams.lambdas import code_of, is_lambda
from kstreams.streams.plan import Facts, FreeName, Plan, call_of
from kstreams.streams.serdes import KnownSerde, Unknown, needed

__all__ = ("Part", "Result", "type_of")


class Result(NamedTuple):
    """The serde of a function's results, and whether these may be None."""

    serde: KnownSerde
    nulls: bool


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

    def _call(self, operation: str, function: object = None) -> str:
        return call_of(operation, "" if function is None else title_of(function))

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
            types: The types of the function's arguments; by default key and value, or the value.
        """
        if types is None:
            types = (
                type_of(self._facts.key, may_be_null=self._facts.null_keys),
                type_of(self._facts.value, may_be_null=self._facts.nulls),
            )
            code = code_of(function)
            if code is not None and is_lambda(function):
                types = types[max(0, len(types) - code.co_argcount) :]
        try:
            hint = pick(returned(function, types))
        except UndeclaredError as exc:
            return Result(given or Unknown(f"{exc}: {call}"), nulls=False)
        return Result(given or self._plan.serdes.of(hint, call), may_be_none(hint))

    def _with_keys_of(self, operation: str, function: object, given: Serde[Any] | None) -> Facts:
        """Return the facts after a function has replaced the keys."""
        call, by = self._call(operation, function), name_of(function)
        found, nulls = self._result(function, given, call)
        label = dashed(self._facts.label, f"by-{by}" if by else "rekeyed")
        return replace(self._facts, label=label, call=call, key=found, null_keys=nulls, moved=True)

    def _joined_value(
        self, joiner: object, given: Serde[Any] | None, call: str, how: str, right: KnownSerde
    ) -> Result:
        """Return the serde of a joiner's results, which may be the values of one side."""
        left = self._facts.value
        if joiner is left_value:
            return Result(given or left, nulls=how == "outer-join")
        if joiner is right_value:
            return Result(given or right, nulls=how != "join")
        types = (
            type_of(left, may_be_null=how == "outer-join"),
            type_of(right, may_be_null=how != "join"),
        )
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
        found = {
            part: needed(known, "key" if part == "key" else "value", call)
            for part, known in serdes.items()
        }
        return make(own, **found)


def type_of(known: KnownSerde, *, may_be_null: bool) -> object:
    """Return the type that a serde converts; `object` if it is unknown."""
    if not isinstance(known, Serde):
        return object
    token = known.type_token
    return token if token is object or not may_be_null else _optional(token)


def _optional(token: Any) -> object:  # noqa: ANN401  # any type
    try:
        return token | None
    except TypeError:
        return object
