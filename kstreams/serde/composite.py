"""Serdes that consist of other serdes: the base class, and tuples."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.parameters import Parameter, Parameters
from kstreams.serde.base import Serde

__all__ = (
    "CompositeSerde",
    "FieldsSerde",
    "TupleSerde",
    "parameters_in",
    "read_int64",
    "sortable_int64",
)

T = TypeVar("T")
"""The type that a serde converts."""

_LENGTH = struct.Struct(">I")
_SORTABLE = struct.Struct(">Q")
_SHIFT = 1 << 63


def parameters_in(serde: Serde[Any]) -> Parameters:
    """Return the parameters that determine the bytes but are not part of the serde's name.

    If several parts of a composite serde have a parameter of the same name, the first part counts.
    """
    if not isinstance(serde, CompositeSerde):
        return {}
    found: dict[str, Parameter] = dict(serde.parameters)
    for part in serde.parts:
        found = {**parameters_in(part), **found}
    return found


class CompositeSerde(Serde[T]):
    """A serde that consists of other serdes, its parts; it compares, hashes and pickles by parts.

    Args:
        format: Name of the format; `name` adds the parts' names in brackets.
        parts: The serdes that this serde consists of, in the order of its constructor's arguments.
    """

    @property
    def parameters(self) -> Parameters:
        """Parameters that determine the bytes in addition to the parts; none by default."""
        return {}

    def __init__(self, format: str, *parts: Serde[Any]) -> None:  # noqa: A002  # its best name
        self.name = f"{format}({', '.join(part.name for part in parts)})"
        self.parts = parts
        self.immutable = all(part.immutable for part in parts)
        self.hashes_by_bytes = all(part.hashes_by_bytes for part in parts)

    @property
    def plain(self) -> Serde[T]:
        """The same format with parts without frames; see `Serde.plain`."""
        return self.of_parts(lambda part: part.plain)

    def of_parts(self, change: Callable[[Serde[Any]], Serde[Any]]) -> Serde[T]:
        """Return this format with changed parts; the serde itself if no part changes."""
        if all(change(part) is part for part in self.parts):
            return self
        made, arguments = self.__reduce__()
        changed = (change(item) if isinstance(item, Serde) else item for item in arguments)
        found: Serde[T] = made(*changed)
        return found

    def __eq__(self, other: object) -> bool:
        """Compare type and parts."""
        return type(self) is type(other) and self.parts == getattr(other, "parts", None)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor's arguments."""
        return type(self), self.parts


class TupleSerde(CompositeSerde[T]):
    """The serde of tuples of fixed length.

    Writes, for each element, the length (u32, big-endian) of its bytes, then the bytes.

    Args:
        parts: Serdes of the elements.
    """

    type_token = tuple

    def __init__(self, *parts: Serde[Any]) -> None:
        super().__init__("tuple", *parts)

    def serialize(self, value: T) -> bytes:
        """Convert each element; anything but a tuple of this length is a `SerializationError`."""
        if not isinstance(value, tuple) or len(value) != len(self.parts):
            raise SerializationError(
                f"expected a tuple of {len(self.parts)} elements, got {value!r}"
            )
        pieces = []
        for part, element in zip(self.parts, value, strict=True):
            data = part.serialize(element)
            pieces += [_LENGTH.pack(len(data)), data]
        return b"".join(pieces)

    def deserialize(self, data: bytes) -> T:
        """Convert each element back; too few or too many bytes are a `DeserializationError`."""
        elements = []
        place = 0
        for part in self.parts:
            end = place + 4
            if len(data) < end:
                raise DeserializationError(f"a tuple is cut short: {data[:40]!r}")
            (length,) = _LENGTH.unpack_from(data, place)
            place = end + length
            elements.append(part.deserialize(data[end:place]))
        if place != len(data):
            raise DeserializationError(
                f"expected {place} bytes of {self.name}, got {len(data)}: {data[:40]!r}"
            )
        return tuple(elements)  # type: ignore[return-value]  # the parts determine T


class FieldsSerde(TupleSerde[T]):
    """The serde of tuples whose elements have names; the names are part of the serde's name.

    So after elements were renamed or exchanged, a store does not misread its old state.

    Args:
        names: Name of each element.
        parts: Serdes of the elements.
    """

    def __init__(self, names: tuple[str, ...], *parts: Serde[Any]) -> None:
        super().__init__(*parts)
        self.names = names
        fields = zip(names, parts, strict=True)
        self.name = f"fields({', '.join(f'{name}: {part.name}' for name, part in fields)})"

    def __eq__(self, other: object) -> bool:
        """Compare names and parts."""
        return super().__eq__(other) and self.names == getattr(other, "names", None)

    def __hash__(self) -> int:
        """Hash the name, which includes the names of the elements."""
        return hash(self.name)

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names, *self.parts)


def sortable_int64(number: int) -> bytes:
    """Return 8 bytes that sort as int64 numbers do.

    Raises:
        SerializationError: The number is not an int64.
    """
    try:
        return _SORTABLE.pack(number + _SHIFT)
    except (struct.error, TypeError) as exc:
        raise SerializationError(f"expected an int64, got {number!r}") from exc


def read_int64(data: bytes, place: int = 0) -> int:
    """Decode an int64 of `sortable_int64` at an offset; too few bytes: `DeserializationError`."""
    try:
        number: int = _SORTABLE.unpack_from(data, place)[0]
    except struct.error as exc:
        raise DeserializationError(f"expected 8 bytes of an int64, got {data[:40]!r}") from exc
    return number - _SHIFT
