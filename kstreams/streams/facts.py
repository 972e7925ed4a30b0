"""The properties of streams and tables that type checkers know, but objects do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kstreams.partitioner import Partitioner
from kstreams.streams.lambdas import Untyped
from kstreams.streams.serdes import KnownSerde, Unknown, type_of

__all__ = ("Facts", "Made", "new_facts", "wrapped_type")


class Made(NamedTuple):
    """The type and the origin of keys or values.

    Attributes:
        type: The type, without None; `object` if it is not known.
        call: The call that creates the keys or values, with file and line.
    """

    type: object
    call: str


@dataclass(frozen=True)
class Facts:
    """The properties of a stream or table that its types do not have.

    Attributes:
        label: The beginning of the names of downstream state.
        call: The call that created the stream or table, with file and line.
        key: The serde of the keys.
        value: The serde of the values.
        made_key: The type and the origin of the keys.
        made_value: The type and the origin of the values.
        nulls: Whether values may be None.
        null_keys: Whether keys may be None.
        moved: Whether the key may have changed, so that tasks share equal keys.
        delayed: Whether the records are results of windows, whose times the stream time of their
            task has passed.
        partitioner: The partitioner that determines the tasks of the keys, if it is known.
    """

    label: str
    call: str
    key: KnownSerde
    value: KnownSerde
    made_key: Made
    made_value: Made
    nulls: bool = False
    null_keys: bool = False
    moved: bool = False
    delayed: bool = False
    partitioner: Partitioner | None = None

    def after(
        self,
        call: str,
        *,
        key_type: object = None,
        value_type: object = None,
        **changes: Any,  # noqa: ANN401  # of several types
    ) -> Facts:
        """Return the properties of the result of a call.

        Args:
            call: The call, with file and line.
            key_type: The type of new keys; by default that of the serde, if `changes` have one.
            value_type: The type of new values; by default that of the serde, if `changes` have one.
            changes: Changed attributes.
        """
        for part, type_ in (("key", key_type), ("value", value_type)):
            if part in changes or type_ is not None:
                known = changes.get(part, getattr(self, part))
                changes[f"made_{part}"] = Made(type_of(known) if type_ is None else type_, call)
        return replace(self, call=call, **changes)

    def argument_types(self) -> tuple[object, object]:
        """Return the types of the keys and values that functions get; `Untyped` if unknown."""
        return (
            _argument("key", self.made_key, self.key, may_be_null=self.null_keys),
            self.value_argument(may_be_null=self.nulls),
        )

    def value_types(self) -> tuple[object]:
        """Return the type of the values that functions of a value get; `Untyped` if unknown."""
        return (self.value_argument(may_be_null=self.nulls),)

    def value_argument(self, *, may_be_null: bool) -> object:
        """Return the type of the values that a joiner gets; `Untyped` if it is not known."""
        return _argument("value", self.made_value, self.value, may_be_null=may_be_null)


def new_facts(
    label: str,
    call: str,
    key: KnownSerde,
    value: KnownSerde,
    **options: Any,  # noqa: ANN401  # of several types
) -> Facts:
    """Return the properties of a stream or table whose keys and values the call creates.

    `options` are the other attributes of `Facts`.
    """
    made = Made(type_of(key), call), Made(type_of(value), call)
    return Facts(label, call, key, value, *made, **options)


def wrapped_type(kind: Any, facts: Facts) -> object:  # noqa: ANN401  # a generic class
    """Return the type of values in an object: `Late[str]`, or `Late` if the type is unknown."""
    made = facts.made_value.type
    return kind if made is object else kind[made]


def _argument(part: str, made: Made, known: KnownSerde, *, may_be_null: bool) -> object:
    if made.type is object:
        if isinstance(known, Unknown):
            return Untyped(replace(known, part=known.part or part))
        return object
    try:
        return made.type | None if may_be_null else made.type  # type: ignore[operator]  # a type
    except TypeError:
        return object
