"""Serdes by type: those of topics, the built-in ones, and those that an app gives or makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import NoneType
from typing import Annotated, Any, Protocol, TypeVar, Union, cast, get_args, get_origin

from kstreams.errors import TopologyError
from kstreams.graph.tokens import show
from kstreams.names import shown_name
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.serde.none import NONE
from kstreams.serde.numbers import BOOL, DOUBLE, INT64
from kstreams.serde.text import BYTES, TEXT
from kstreams.serde.windowed_key import WindowedKeySerde, windowed_type
from kstreams.streams.functions import may_be_none, title_of
from kstreams.windowed import Windowed

__all__ = (
    "KnownSerde",
    "SerdeMaker",
    "Serdes",
    "TypedSerde",
    "Unknown",
    "common_serde",
    "needed",
    "needed_each",
    "type_of",
)

T = TypeVar("T")
"""The type that a serde converts."""


@dataclass(frozen=True)
class Unknown:
    """A serde that is not known.

    Attributes:
        reason: The reason.
        missing: The type that has no serde; None if the type itself is not known.
        part: `key` or `value` if the serde is not known because an earlier step did not declare
            the type of its keys or values.
    """

    reason: str
    missing: object = None
    part: str = ""


KnownSerde = Serde[Any] | Unknown
"""A serde, if it is known."""


class TypedSerde(Protocol):
    """A serde with the type that it converts, as `Streams(serdes=[...])` takes it."""

    @property
    def type_token(self) -> object:
        """The type that the serde converts."""
        ...


class SerdeMaker(Protocol):
    """Makes the serde of a class, such as `json_serde`, `msgpack_serde` or a custom function."""

    def __call__(self, type_: type[T], /) -> Serde[T]:
        """Return the serde of a class."""
        ...


class Serdes:
    """Finds the serde of a type: a given one, a built-in one, that of a topic, or a new one.

    Args:
        given: Serdes that have precedence over the others.
        maker: Makes the serde of any other type.

    Raises:
        TopologyError: A given object is not a serde, or does not have a type.
    """

    def __init__(self, given: Iterable[TypedSerde], maker: SerdeMaker | None) -> None:
        own: dict[object, KnownSerde] = {str: TEXT, bytes: BYTES, int: INT64, float: DOUBLE}
        own |= {bool: BOOL, NoneType: NONE}
        for serde in given:
            if not isinstance(serde, Serde) or serde.type_token is object:
                raise TopologyError(
                    f"Streams(serdes=[...]): {shown_name(serde)} is not a serde of one type",
                    hint="pass such a serde where it is needed, as key= or value=.",
                )
            own[serde.type_token] = serde
        self._found = own
        self._fixed = {*own, object, dict, tuple, frozenset, Windowed}
        self._maker = maker
        self._made: dict[object, KnownSerde] = {}

    def learn(self, *serdes: Serde[Any]) -> None:
        """Use the serdes of a topic for their types, unless the types have a serde."""
        for serde in serdes:
            token, plain = serde.type_token, serde.plain
            other = plain if token in self._fixed else self._found.setdefault(token, plain)
            if isinstance(other, Serde) and other != plain:
                self._found[token] = Unknown(
                    f"topics have the serdes {other.name} and {plain.name} for "
                    f"{show(token)}, and Streams(serdes=[...]) has none"
                )

    def of(self, hint: object, call: str) -> KnownSerde:
        """Return the serde of a type.

        Args:
            hint: The type, as in an annotation; `Order | None` has the serde of `Order`.
            call: The call that makes objects of the type, for the reason if there is no serde.
        """
        try:
            found = self._of(_bare(hint))
        except TypeError as exc:  # such as an annotation that cannot be hashed
            found = Unknown(f"{hint!r} is not the type of a serde ({exc})")
        return (
            found if isinstance(found, Serde) else replace(found, reason=f"{found.reason}: {call}")
        )

    def _of(self, hint: object) -> KnownSerde:
        found = self._found.get(hint)
        if found is not None:
            return found
        parts = get_args(hint) if get_origin(hint) is tuple else ()
        if parts and not any(part is Ellipsis or may_be_none(part) for part in parts):
            known = [self._of(_bare(part)) for part in parts]
            serdes = [part for part in known if isinstance(part, Serde)]
            if len(serdes) == len(known):
                return TupleSerde[Any](*serdes)
        if (
            self._maker is None
            or bool(getattr(hint, "__parameters__", False))
            or isinstance(hint, TypeVar)
        ):
            reason = f"Streams(serdes=[...]) has no serde of {show(hint)}"
            return Unknown(reason, hint)
        if hint not in self._made:
            self._made[hint] = self._make(self._maker, hint)
        return self._made[hint]

    @staticmethod
    def _make(maker: SerdeMaker, hint: object) -> KnownSerde:
        name = f"{title_of(maker)}({show(hint)})"
        try:
            made: object = maker(cast("type[Any]", hint))
        except Exception as exc:  # noqa: BLE001  # the user's function, for a type of any kind
            return Unknown(f"make_serde={name} failed ({exc})")
        if isinstance(made, Serde):
            return made
        return Unknown(f"make_serde={name} returned a {type(made).__name__}, not a serde")


def _bare(hint: object) -> object:
    """Return a type without annotations, and without None among its values."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if not may_be_none(hint):
        return NoneType if hint is None else hint
    return Union[tuple(part for part in get_args(hint) if part is not NoneType)]  # noqa: UP007  # made of a tuple


def needed(known: KnownSerde, part: str, call: str) -> Serde[Any]:
    """Return a serde that a step needs.

    Args:
        known: The serde, if it is known.
        part: `key`, `value` or `state`, also the name of the argument that gives it.
        call: The call of the step, with file and line.

    Raises:
        TopologyError: The serde is not known; the message has the reason.
    """
    return needed_each({part: known}, call)[part]


def needed_each(serdes: Mapping[str, KnownSerde], call: str) -> dict[str, Serde[Any]]:
    """Return the serdes that a step needs.

    Args:
        serdes: The serdes by part, as far as they are known; see `needed`. The values of a stream
            join have the parts `left` and `right`.
        call: The call of the step, with file and line.

    Raises:
        TopologyError: Some of the serdes are not known; the message has the reason of each.
    """
    unknown = {part: known for part, known in serdes.items() if isinstance(known, Unknown)}
    if not unknown:
        return {part: known for part, known in serdes.items() if isinstance(known, Serde)}
    reasons: dict[str, list[str]] = {}
    steps: dict[str, list[str]] = {}
    for part, known in unknown.items():
        reasons.setdefault(known.reason, []).append(_WORDS.get(part, f"the {part}s"))
        option = known.part or ("value" if part in _WORDS else part)
        is_windowed = known.missing is Windowed or get_origin(known.missing) is Windowed
        given = f"{option}={'windowed(serde, windows)' if is_windowed else '...'}"
        steps.setdefault(_declaration(known), []).append(given)
    texts = [
        f"the serde{'s' if len(parts) > 1 else ''} of {' and '.join(parts)}, but {reason}"
        for reason, parts in reasons.items()
    ]
    hints = [
        f"{step}, or pass {' and '.join(dict.fromkeys(options))} there"
        for step, options in steps.items()
    ]
    raise TopologyError(f"{call} needs {'; and '.join(texts)}", hint=f"{'; '.join(hints)}.")


_WORDS = {"left": "the left values", "right": "the right values"}


def _declaration(known: Unknown) -> str:
    if known.missing is None:
        return "declare the type of the function's result (-> ...)"
    return "add the serde of the type to Streams(serdes=[...])"


def type_of(known: KnownSerde) -> object:
    """Return the type that a serde converts; `object` if it is unknown."""
    if not isinstance(known, Serde):
        return object
    if isinstance(known, WindowedKeySerde):
        return windowed_type(known)
    return known.type_token


def common_serde(serdes: Iterable[KnownSerde], part: str, call: str) -> KnownSerde:
    """Return the serde that several streams have in common; unknown if theirs differ."""
    all_ = [*serdes]
    known = [serde for serde in all_ if isinstance(serde, Serde)]
    names = ", ".join(dict.fromkeys(serde.name for serde in known))
    if any(serde != known[0] for serde in known):
        return Unknown(f"the {part}s of its streams have several serdes ({names}): {call}")
    return known[0] if known else all_[0]
