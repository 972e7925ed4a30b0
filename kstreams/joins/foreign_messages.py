"""What travels between the stages of a foreign-key join.

A subscription goes from a left row to the task of its foreign key. It says whether the row
comes or goes, and has the row's key in the subscription store, its own key, and its value. A
response goes from there, or straight from the left row, to the task of the left key.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.objects import objects_of

__all__ = (
    "ENTER",
    "LEAVE",
    "LEAVE_RESULT",
    "MOVE",
    "NO_ROW",
    "NO_ROW_NOW",
    "ROW",
    "ROW_NOW",
    "Response",
    "ResponseSerde",
    "SubscriptionSerde",
    "opened",
    "opened_many",
    "opened_responses",
    "subscription",
)

ENTER, MOVE, LEAVE, LEAVE_RESULT = range(4)
"""What a subscription says: the row names this foreign key; it does, and has named another; it
names it no more; it names it no more, and its result goes with that."""

_HEAD = struct.Struct(">BII")

NO_ROW, ROW, NO_ROW_NOW, ROW_NOW = (bytes((number,)) for number in range(4))
"""How a response begins: whether there is a result, and whether the left row has changed in this
batch. What a task has said of a row before it has left is older than what says `NOW`."""

_NOW = 2


def subscription(says: int, prefix: bytes, own: bytes, value: bytes = b"") -> bytes:
    """Return a subscription.

    Args:
        says: `ENTER`, `MOVE`, `LEAVE` or `LEAVE_RESULT`.
        prefix: What the rows of the foreign key begin with.
        own: The left row's key.
        value: Its value; empty for a row that leaves.
    """
    return _HEAD.pack(says, len(prefix), len(own)) + prefix + own + value


def opened(data: bytes) -> tuple[int, int, bytes, bytes]:
    """Return what a subscription says, the length of its prefix, row key and left value.

    Raises:
        DeserializationError: It is cut short.
    """
    try:
        says, prefix, own = _HEAD.unpack_from(data)
    except struct.error as exc:
        raise DeserializationError(f"a subscription is cut short: {data[:40]!r}") from exc
    end = _HEAD.size + prefix + own
    return says, prefix, data[_HEAD.size : end], data[end:]


def opened_many(
    data: Sequence[bytes],
) -> tuple[list[int], list[int], list[bytes], list[bytes]]:
    """Return what `opened` returns of each subscription, a list each.

    Raises:
        DeserializationError: One is cut short.
    """
    try:
        heads = list(map(_HEAD.unpack_from, data))
    except struct.error:
        for item in data:
            opened(item)
        raise
    size = _HEAD.size
    ends = [size + prefix + own for _, prefix, own in heads]
    rows = [item[size:end] for item, end in zip(data, ends, strict=True)]
    values = [item[end:] for item, end in zip(data, ends, strict=True)]
    return [head[0] for head in heads], [head[1] for head in heads], rows, values


def opened_responses(data: pa.Array) -> tuple[npt.NDArray[np.bool_], pa.Array]:
    """Return whether responses are of now, and the results in them, encoded; null for none.

    Raises:
        DeserializationError: One is empty.
    """
    items: list[bytes] = objects_of(data)
    if not all(items):
        raise DeserializationError("a response is empty")
    heads = np.frombuffer(bytes(map(itemgetter(0), items)), np.uint8)
    results = [item[1:] if item[0] & 1 else None for item in items]
    return (heads & _NOW).astype(bool), pa.array(results, pa.binary())


class SubscriptionSerde(CompositeSerde[bytes]):
    """Subscriptions as they are; named by what is in them.

    Args:
        own: Serde of the left table's keys.
        value: Serde of its values.
    """

    type_token = bytes

    def __init__(self, own: Serde[Any], value: Serde[Any]) -> None:
        super().__init__("subscription", own, value)
        self.immutable = self.hashes_by_bytes = True

    def serialize(self, value: bytes) -> bytes:
        """Return the bytes."""
        return value

    def deserialize(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data

    def deserialize_many(self, data: pa.Array) -> list[bytes | None]:
        """Return the bytes of all."""
        found: list[bytes | None] = objects_of(data)
        return found


class Response(NamedTuple):
    """What is known of a left row's result.

    Attributes:
        now: Whether it is said because the left row has changed in this batch.
        value: The result; None for none.
    """

    now: bool
    value: Any


class ResponseSerde(CompositeSerde[Response]):
    """A byte of `NO_ROW` and so on, then the result.

    Args:
        value: Serde of the results.
    """

    type_token = Response

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("response", value)
        self._value = value
        self.immutable = value.immutable
        self.hashes_by_bytes = False

    def serialize(self, value: Response) -> bytes:
        """Convert."""
        if value.value is None:
            return NO_ROW_NOW if value.now else NO_ROW
        return (ROW_NOW if value.now else ROW) + self._value.serialize(value.value)

    def deserialize(self, data: bytes) -> Response:
        """Convert back."""
        if not data:
            raise DeserializationError("a response is empty")
        has_row = data[0] & 1
        value = self._value.deserialize(data[1:]) if has_row else None
        return Response(bool(data[0] & _NOW), value)

    def deserialize_many(self, data: pa.Array) -> list[Response | None]:
        """Convert back in one step."""
        found: list[bytes | None] = objects_of(data)
        if not all(found):
            return super().deserialize_many(data)
        rows = [each[1:] if each and each[0] & 1 else None for each in found]
        values = self._value.deserialize_many(pa.array(rows, pa.binary()))
        return [
            Response(bool(each and each[0] & _NOW), value)
            for each, value in zip(found, values, strict=True)
        ]
