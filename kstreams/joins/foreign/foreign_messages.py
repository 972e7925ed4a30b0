"""The messages between the stages of a foreign-key join.

A left row sends a subscription to the task of its foreign key. The subscription contains the kind
of the change, the row's key in the subscription store (the foreign key's prefix and the left key),
and the left value. The task of the foreign key sends a response to the task of the left key. For a
left row without a foreign key, the first stage sends the response.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Bools, Ints
from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.binary import binary_array, heads_of
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
    "responses",
    "subscriptions",
)

ENTER, MOVE, LEAVE, LEAVE_RESULT = range(4)
"""The kinds of subscriptions. `ENTER`: the left row refers to this foreign key, newly or as before.
`MOVE`: it refers to this key now, and referred to another key before. `LEAVE`: it no
longer refers to this key. `LEAVE_RESULT`: as `LEAVE`, and the result of the row is deleted."""

_HEAD = struct.Struct(">BII")
_HEADS = np.dtype([("says", ">u1"), ("prefix", ">u4"), ("own", ">u4")])
"""The header: the kind of the change, and the lengths of the prefix and of the left row's key."""

NO_ROW, ROW, NO_ROW_NOW, ROW_NOW = (bytes((number,)) for number in range(4))
"""The first byte of a response: whether there is a result, and whether the left row has changed in
this batch (`NOW`). A `NOW` response is newer than any other response about the row in the batch."""

_HAS_ROW, _NOW = 1, 2


def subscriptions(says: Ints, prefixes: pa.Array, own: pa.Array, values: pa.Array) -> pa.Array:
    """Encode subscriptions; all arrays are `binary`.

    Args:
        says: The kinds of the changes: `ENTER`, `MOVE`, `LEAVE` or `LEAVE_RESULT`.
        prefixes: The encoded foreign keys, as prefixes of row keys.
        own: The encoded keys of the left rows.
        values: The encoded left values; empty for removed rows.
    """
    heads = np.empty(len(says), _HEADS)
    heads["says"] = says
    heads["prefix"] = pc.binary_length(prefixes).to_numpy()
    heads["own"] = pc.binary_length(own).to_numpy()
    head = binary_array(heads.view(np.uint8), len(says), _HEAD.size)
    return pc.binary_join_element_wise(head, prefixes, own, values, b"")


def responses(now: Bools, results: pa.Array) -> pa.Array:
    """Encode responses.

    Args:
        now: The mask of responses whose left row has changed in this batch.
        results: The encoded results; null for no result.
    """
    heads = now.astype(np.uint8) * _NOW + np.asarray(results.is_valid()) * np.uint8(_HAS_ROW)
    head = binary_array(heads.astype(np.uint8), len(now), 1)
    return pc.binary_join_element_wise(head, pc.fill_null(results, b""), b"")


def opened(data: bytes) -> tuple[int, int, bytes, bytes]:
    """Decode a subscription to its kind, the length of its prefix, the row key and the left value.

    Raises:
        DeserializationError: The subscription is truncated.
    """
    try:
        says, prefix, own = _HEAD.unpack_from(data)
    except struct.error as exc:
        raise DeserializationError(
            f"a foreign-key join's subscription is cut short: {data[:40]!r}"
        ) from exc
    end = _HEAD.size + prefix + own
    return says, prefix, data[_HEAD.size : end], data[end:]


def opened_many(data: pa.Array) -> tuple[list[int], list[int], list[bytes], list[bytes]]:
    """Decode a `binary` array of subscriptions; return a column for each result of `opened`.

    Raises:
        DeserializationError: A subscription is truncated.
    """
    items: list[bytes] = objects_of(data)
    heads = heads_of(data, _HEADS)
    if heads is None:
        shortest = min(items, key=len)
        raise DeserializationError(f"a foreign-key join's subscription is cut short: {shortest!r}")
    ends = (_HEAD.size + heads["prefix"].astype(np.int64) + heads["own"]).tolist()
    pairs = list(zip(items, ends, strict=True))
    rows = [item[_HEAD.size : end] for item, end in pairs]
    values = [item[end:] for item, end in pairs]
    return heads["says"].tolist(), heads["prefix"].tolist(), rows, values


def opened_responses(data: pa.Array) -> tuple[Bools, pa.Array]:
    """Decode a `binary` array of responses.

    Returns the mask of left rows that have changed in this batch, and the encoded results; null
    for no result.

    Raises:
        DeserializationError: A response is empty.
    """
    heads = heads_of(data, np.dtype(np.uint8))
    if heads is None:
        raise DeserializationError(
            "a foreign-key join's response is empty: expected at least 1 byte"
        )
    longest = pc.max(pc.binary_length(data)).as_py() or 1  # without an end, see StampedSerde
    results = pc.binary_slice(data, 1, longest)
    has_row = (heads & _HAS_ROW).astype(bool)
    if not has_row.all():
        results = pc.if_else(pa.array(has_row), results, None)
    return (heads & _NOW).astype(bool), results


class SubscriptionSerde(CompositeSerde[bytes]):
    """Serde of encoded subscriptions; its name contains the serdes of left keys and values.

    Args:
        own: The serde of the left table's keys.
        value: The serde of the left table's values.
    """

    type_token = bytes

    def __init__(self, own: Serde[Any], value: Serde[Any]) -> None:
        super().__init__("subscription", own, value)
        self.immutable = self.hashes_by_bytes = True

    def serialize(self, value: bytes) -> bytes:
        """Return the subscription unchanged."""
        return value

    def deserialize(self, data: bytes) -> bytes:
        """Return the subscription unchanged."""
        return data

    def deserialize_many(self, data: pa.Array) -> list[bytes | None]:
        """Return the subscriptions as objects of type `bytes`."""
        found: list[bytes | None] = objects_of(data)
        return found


class Response(NamedTuple):
    """A response: the result of a left row.

    Attributes:
        now: Whether the left row has changed in this batch.
        value: The result; None for no result.
    """

    now: bool
    value: Any


class ResponseSerde(CompositeSerde[Response]):
    """Encodes a response: a first byte such as `NO_ROW` or `ROW_NOW`, then the result, if any.

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
        """Encode a response."""
        if value.value is None:
            return NO_ROW_NOW if value.now else NO_ROW
        return (ROW_NOW if value.now else ROW) + self._value.serialize(value.value)

    def deserialize(self, data: bytes) -> Response:
        """Decode a response. Raises `DeserializationError` if the bytes are empty."""
        if not data:
            raise DeserializationError(
                "a foreign-key join's response is empty: expected at least 1 byte"
            )
        has_row = data[0] & _HAS_ROW
        value = self._value.deserialize(data[1:]) if has_row else None
        return Response(bool(data[0] & _NOW), value)

    def deserialize_many(self, data: pa.Array) -> list[Response | None]:
        """Decode many responses; their results are decoded in one call."""
        found: list[bytes | None] = objects_of(data)
        if not all(found):
            return super().deserialize_many(data)
        rows = [each[1:] if each and each[0] & _HAS_ROW else None for each in found]
        values = self._value.deserialize_many(pa.array(rows, pa.binary()))
        return [
            Response(bool(each and each[0] & _NOW), value)
            for each, value in zip(found, values, strict=True)
        ]
