"""The serde of JSON, which is typed and strict; its errors name the path to the wrong field."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import Any, TypeVar, overload

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

try:
    import msgspec
except ImportError as exc:
    raise ImportError("JSON needs msgspec: pip install 'kstreams-spark[json]'") from exc

from kstreams import Serde
from kstreams.errors import SerializationError
from kstreams.serde import objects_of
from kstreams_msgspec import Coding, DecHook, EncHook, TypedSerde

__all__ = ("JsonSerde", "json_serde")

T = TypeVar("T")
"""The type that JSON is decoded to."""


@overload
def json_serde(
    type_: type[T],
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: EncHook | None = ...,
    dec_hook: DecHook | None = ...,
) -> Serde[T]: ...
@overload
def json_serde(
    type_: UnionType,
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: EncHook | None = ...,
    dec_hook: DecHook | None = ...,
) -> Serde[Any]: ...
def json_serde(
    type_: object,
    *,
    name: str | None = None,
    strict: bool = True,
    enc_hook: EncHook | None = None,
    dec_hook: DecHook | None = None,
) -> Serde[Any]:
    """Return a serde of JSON text for a type.

    Equal objects have equal bytes, with dictionaries in the order of their keys, so that they may
    be keys of records. A store keeps such keys in the order of their text. JSON has no NaN and no
    infinity: such a float is a `SerializationError`, or None if the type allows None. Unknown
    fields are skipped, unless the Struct has `forbid_unknown_fields=True`.

    Args:
        type_: A dataclass, `msgspec.Struct`, TypedDict, scalar, or a list, dict, tuple, set or
            union of these; `object` for any JSON. Declare the type for a union, which type checkers
            cannot infer: `prices: Serde[Price | Quote] = json_serde(Price | Quote)`.
        name: The name recorded with the state instead of the type's name.
        strict: Whether to accept only values of the exact type; False also accepts the text "1" for
            an int.
        enc_hook: Converts an object of an unsupported type to a supported one.
        dec_hook: Converts the decoded value back, given the type and the value.

    Raises:
        TypeError: The type cannot be written as JSON, and there are no hooks.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     item: str
        ...     count: int
        >>> orders = json_serde(Order)
        >>> orders.deserialize(b'{"item": "tea", "count": 2}')
        Order(item='tea', count=2)
    """
    return JsonSerde(type_, name, strict=strict, enc_hook=enc_hook, dec_hook=dec_hook)


class JsonSerde(TypedSerde[T]):
    """The result of `json_serde`. Compares by its type and options, and pickles by them."""

    __slots__ = ()
    coding = Coding("json", "JSON", msgspec.json.Encoder, msgspec.json.Decoder)

    @override
    def serialize(self, value: T) -> bytes:
        data = super().serialize(value)
        if self._has_floats and b"null" in data:
            self._check_floats(data)
        return data

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        column = super().serialize_many(values)
        if self._has_floats:
            for data in objects_of(column.filter(pc.match_substring(column, "null"))):
                self._check_floats(data)
        return column

    def _check_floats(self, data: bytes) -> None:
        """Raise `SerializationError` for NaN and infinity, which msgspec has written as null."""
        try:
            self._decoder.decode(data)
        except ValueError as exc:
            raise SerializationError(
                f"expected {self.name}: JSON cannot represent NaN and infinity: {exc}"
            ) from exc
