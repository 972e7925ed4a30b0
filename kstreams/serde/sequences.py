"""Serdes of sequences and sets of one kind of element."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = (
    "FrozenSetSerde",
    "SequenceSerde",
    "divided",
    "joined",
)

T = TypeVar("T")
"""Type of the elements."""

_LENGTH = struct.Struct(">I")


class SequenceSerde(CompositeSerde["tuple[T, ...]"]):
    """The serde of tuples of any length.

    Writes, for each element, the length (u32, big-endian) of its bytes, then the bytes.

    Args:
        element: Serde of the elements.
    """

    type_token = tuple

    def __init__(self, element: Serde[T]) -> None:
        super().__init__("sequence", element)
        self._element = element

    def serialize(self, value: tuple[T, ...]) -> bytes:
        """Convert each element; anything but a tuple is a `SerializationError`."""
        if not isinstance(value, tuple):
            raise SerializationError(f"expected a tuple, got {type(value).__name__}: {value!r}")
        return joined(map(self._element.serialize, value))

    @override
    def deserialize(self, data: bytes) -> tuple[T, ...]:
        return tuple(map(self._element.deserialize, divided(data)))


class FrozenSetSerde(CompositeSerde["frozenset[T]"]):
    """The serde of sets; elements are sorted by their bytes, so that equal sets have equal bytes.

    Args:
        element: Serde of the elements.
    """

    type_token = frozenset

    def __init__(self, element: Serde[T]) -> None:
        super().__init__("set", element)
        self._element = element

    def serialize(self, value: frozenset[T]) -> bytes:
        """Convert each element; anything but a frozenset is a `SerializationError`."""
        if not isinstance(value, frozenset):
            raise SerializationError(f"expected a frozenset, got {type(value).__name__}")
        return joined(sorted(map(self._element.serialize, value)))

    @override
    def deserialize(self, data: bytes) -> frozenset[T]:
        return frozenset(map(self._element.deserialize, divided(data)))


def joined(pieces: Iterable[bytes]) -> bytes:
    """Concatenate byte strings, each after its length (u32, big-endian)."""
    return b"".join(part for piece in pieces for part in (_LENGTH.pack(len(piece)), piece))


def divided(data: bytes) -> list[bytes]:
    """Return the byte strings that `joined` has encoded.

    Raises:
        DeserializationError: The data is truncated.
    """
    pieces = []
    place, size = 0, len(data)
    while place < size:
        if place + 4 > size:
            raise DeserializationError(f"a sequence is cut short: {data[:40]!r}")
        start = place + 4
        place = start + _LENGTH.unpack_from(data, place)[0]
        if place > size:
            raise DeserializationError(f"a sequence is cut short: {data[:40]!r}")
        pieces.append(data[start:place])
    return pieces
