"""The encoding of one store's keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from kstreams.errors import SerdeError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of
from kstreams.serde.text import BYTES

__all__ = ("MAX_ROW_BYTES", "RowCoding")

MAX_ROW_BYTES = (1 << 31) - (1 << 20)
"""The maximum bytes of a key or a value: Arrow arrays of bytes hold at most 2 GiB."""

_BYTES_OR_NONE = {bytes, type(None)}


class RowCoding:
    """Encodes and decodes a store's keys and values; errors name the store and the key.

    Args:
        store: Name of the store.
        key: The serde of the keys; the store is sorted by the bytes that this serde writes.
        value: Serde of the values.
    """

    def __init__(self, store: str, key: Serde[Any], value: Serde[Any]) -> None:
        self._store = store
        self._key = key
        self._value = value

    def encode_key(self, key: Any) -> bytes:  # noqa: ANN401  # the store's own types, erased here
        """Return a key's bytes."""
        return self._encode(self._key, key, key)

    def encode_value(self, value: Any, key: Any) -> bytes:  # noqa: ANN401  # as above
        """Return the bytes of a value; `key` is only used in errors."""
        return self._encode(self._value, value, key)

    def encode_keys(self, keys: list[Any]) -> list[Any]:
        """Return the bytes of keys."""
        if None not in keys and _as_they_are(self._key, keys):
            return keys
        try:
            array = self._key.serialize_many(keys)
            if not array.null_count:
                return objects_of(array)
        except (SerdeError, pa.ArrowException):  # the latter: more than fits into one array
            pass
        return [self._encode(self._key, key, key) for key in keys]

    def encode_values(self, values: list[Any], keys: list[Any]) -> list[Any]:
        """Return the bytes of values; None, a deletion, stays None. `keys` are for errors."""
        if _as_they_are(self._value, values):
            return values
        try:
            return objects_of(self._value.serialize_many(values))
        except (SerdeError, pa.ArrowException):  # the latter: more than fits into one array
            return [
                None if value is None else self._encode(self._value, value, key)
                for value, key in zip(values, keys, strict=True)
            ]

    def key(self, data: bytes) -> Any:  # noqa: ANN401  # as above
        """Return the key that the bytes encode."""
        return self._key.deserialize(data)

    def value(self, data: bytes, key: Any) -> Any:  # noqa: ANN401  # as above
        """Return the value that the bytes encode; `key` is only used in errors."""
        try:
            return self._value.deserialize(data)
        except SerdeError as exc:
            exc.at(store=self._store, key=key)
            raise

    def values(
        self, data: list[bytes | None], keys: Sequence[Any], *, encoded: bool = True
    ) -> list[Any]:
        """Return the values that the bytes encode; None stays None.

        Args:
            data: The encoded values.
            keys: The key of each value, for errors.
            encoded: Whether `keys` are encoded.
        """
        try:
            array = pa.array(data, pa.binary())
            if isinstance(array, pa.Array):
                return self._value.deserialize_many(array)
        except (SerdeError, pa.ArrowException):
            pass
        # One by one, to name an undecodable value and to read more than fits into an array.
        return [
            None if item is None else self.value(item, self.key(key) if encoded else key)
            for item, key in zip(data, keys, strict=True)
        ]

    def _encode(self, serde: Serde[Any], item: Any, key: Any) -> bytes:  # noqa: ANN401  # as above
        try:
            data = serde.serialize(item)
        except SerdeError as exc:
            exc.at(store=self._store, key=key)
            raise
        if len(data) > MAX_ROW_BYTES:
            raise SerializationError(
                f"a row would have {len(data):,} bytes; the maximum is {MAX_ROW_BYTES:,}",
                hint="store less in one value: bound the collection of a key, or use a list store, "
                "which stores each element in a separate row.",
            ).at(store=self._store, key=key)
        return data


def _as_they_are(serde: Serde[Any], items: list[Any]) -> bool:
    """Return whether items equal their encoding: the serde is `BYTES`, and all are valid."""
    if serde is not BYTES or not _BYTES_OR_NONE.issuperset(map(type, items)):
        return False
    return max(map(len, filter(None, items)), default=0) <= MAX_ROW_BYTES
