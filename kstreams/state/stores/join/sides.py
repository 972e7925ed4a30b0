"""The serde of values of either side of a join."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("SidesSerde", "sides_of")

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""


class SidesSerde(CompositeSerde["tuple[int, VL | VR]"], Generic[VL, VR]):
    """The serde of pairs of a side (0 left, 1 right) and a value: one byte, then the value.

    Combines the serdes of both sides, because a store definition has one serde of values.

    Args:
        left: Serde of the left values.
        right: Serde of the right values.
    """

    type_token = tuple

    def __init__(self, left: Serde[VL], right: Serde[VR]) -> None:
        super().__init__("sides", left, right)

    @override
    def serialize(self, value: tuple[int, VL | VR]) -> bytes:
        side, content = value
        if side not in (0, 1):
            raise SerializationError(f"expected join side 0 (left) or 1 (right), got {side!r}")
        return bytes((side,)) + self.parts[side].serialize(content)

    @override
    def deserialize(self, data: bytes) -> tuple[int, VL | VR]:
        if data[:1] not in (b"\x00", b"\x01"):
            raise DeserializationError(
                f"expected a byte for the join side, 0 (left) or 1 (right), and a value, got "
                f"{data[:40]!r}"
            )
        return data[0], self.parts[data[0]].deserialize(data[1:])


def sides_of(value: Serde[Any]) -> tuple[Serde[Any], Serde[Any]]:
    """Return the left and the right serde of a `SidesSerde`; return another serde twice."""
    if isinstance(value, SidesSerde):
        left, right = value.parts
        return left, right
    return value, value
