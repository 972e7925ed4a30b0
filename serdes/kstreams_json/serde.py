"""The serde of JSON: typed, strict, and with the wrong field's path in its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, TypeVar, overload

import pyarrow as pa

try:
    import msgspec
except ImportError as exc:
    raise ImportError("JSON needs msgspec: pip install 'kstreams-spark[json]'") from exc

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import objects_of
from kstreams_json.one_field import OneField
from kstreams_json.shape import classes_of, contains, has_value_bytes, is_immutable, type_name

__all__ = ("JsonSerde", "json_serde")

T = TypeVar("T")
"""The type that JSON is decoded to."""

_SHOWN_BYTES = 40
_ENCODE_ERRORS = (TypeError, ValueError, OverflowError, RecursionError, AttributeError)


@overload
def json_serde(
    type_: type[T],
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: Callable[[Any], Any] | None = ...,
    dec_hook: Callable[[type, Any], Any] | None = ...,
) -> Serde[T]: ...
@overload
def json_serde(
    type_: UnionType,
    *,
    name: str | None = ...,
    strict: bool = ...,
    enc_hook: Callable[[Any], Any] | None = ...,
    dec_hook: Callable[[type, Any], Any] | None = ...,
) -> Serde[Any]: ...
def json_serde(
    type_: object,
    *,
    name: str | None = None,
    strict: bool = True,
    enc_hook: Callable[[Any], Any] | None = None,
    dec_hook: Callable[[type, Any], Any] | None = None,
) -> Serde[Any]:
    """Make a serde of JSON text for a type.

    Equal objects are written alike, dictionaries in the order of their keys, so that
    they may be keys of records. A store keeps such keys in the order of their text.
    JSON has no NaN and no infinity: a float that is one is a `SerializationError`, but
    becomes None where the type allows None. Fields that the type does not know are
    skipped, unless the Struct says `forbid_unknown_fields=True`.

    Args:
        type_: A dataclass, `msgspec.Struct`, TypedDict, scalar, or a list, dict, tuple,
            set or union of such; `object` for whatever JSON comes. For a union write the
            type down, which a type checker cannot infer:
            `prices: Serde[Price | Quote] = json_serde(Price | Quote)`.
        name: Recorded with the state in place of the type's name.
        strict: Take only what JSON says; False takes the text "1" for an int too.
        enc_hook: Makes something that can be written of an object that cannot.
        dec_hook: Makes an object of such a type again; gets the type and what was read.

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


class JsonSerde(Serde[T]):
    """What `json_serde` returns. Compares by its type and options, and pickles by them."""

    __slots__ = (
        "_classes",
        "_containers",
        "_decoder",
        "_encoder",
        "_floats",
        "_options",
        "_readers",
        "hashes_by_bytes",
        "immutable",
        "name",
        "type_token",
    )

    def __init__(
        self,
        type_: object,
        name: str | None,
        *,
        strict: bool,
        enc_hook: Callable[[Any], Any] | None,
        dec_hook: Callable[[type, Any], Any] | None,
    ) -> None:
        type_ = Any if type_ is object else type_
        info = msgspec.inspect.type_info(type_)
        if dec_hook is None and contains(info, msgspec.inspect.CustomType):
            raise TypeError(
                f"{type_name(type_)} cannot be decoded from JSON\n"
                "Hint: use a dataclass, or give enc_hook and dec_hook."
            )
        self.name = f"json[{type_name(type_)}]" if name is None else name
        self.type_token = object if type_ is Any else type_
        self.immutable = is_immutable(info)
        self.hashes_by_bytes = has_value_bytes(info)
        self._classes = classes_of(info)
        self._containers = tuple(cls for cls in self._classes if cls in (dict, list, tuple))
        self._floats = contains(info, msgspec.inspect.FloatType)
        self._options = (type_, name, strict, enc_hook, dec_hook)
        self._readers: dict[str, OneField | None] = {}
        self._encoder = msgspec.json.Encoder(enc_hook=enc_hook, order="deterministic")
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            type_, strict=strict, dec_hook=dec_hook
        )

    def serialize(self, value: T) -> bytes:
        """Encode; an object of another type is a `SerializationError`."""
        classes = self._classes
        if classes and type(value) not in classes and not isinstance(value, self._containers):
            raise SerializationError(
                f"expected {self.name}, got {type(value).__name__}: {value!r:.{_SHOWN_BYTES}}"
            )
        try:
            data = self._encoder.encode(value)
        except _ENCODE_ERRORS as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc
        if self._floats and b"null" in data:
            self._check_floats(data)
        return data

    def deserialize(self, data: bytes) -> T:
        """Decode; the error of a `DeserializationError` names the path to the wrong field."""
        try:
            value: T = self._decoder.decode(data)
        except (ValueError, RecursionError) as exc:
            raise DeserializationError(
                f"expected {self.name}: {exc}; got {bytes(data[:_SHOWN_BYTES])!r}"
            ) from exc
        return value

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """Convert in one step; falls back to single steps to name what fails."""
        kinds = set(map(type, values))
        if self._floats or (self._classes and not kinds.issubset({*self._classes, type(None)})):
            return super().serialize_many(values)
        encode = self._encoder.encode
        try:
            data = [None if value is None else encode(value) for value in values]
        except _ENCODE_ERRORS:
            return super().serialize_many(values)
        return pa.array(data, pa.binary())

    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        """Convert in one step; falls back to single steps to name what fails."""
        decode = self._decoder.decode
        items: list[Any] = objects_of(data)
        try:
            if not data.null_count:
                return list(map(decode, items))
            return [None if item is None else decode(item) for item in items]
        except (ValueError, RecursionError):
            return super().deserialize_many(data)

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        """Take one field out of each value, without decoding the others where that is right."""
        items: list[bytes | None] = objects_of(column)
        if name not in self._readers:  # made once: it takes a class of its own
            type_, _, strict, _, dec_hook = self._options
            made = None if dec_hook is not None else OneField.of(type_, name, strict=strict)
            self._readers[name] = made
        reader = self._readers[name]
        if reader is None:
            return super().field(column, name, kind)
        try:
            found = iter(reader.read([item for item in items if item is not None]))
            return pa.array([None if item is None else next(found) for item in items], kind)
        except (ValueError, RecursionError, pa.ArrowException):
            return super().field(column, name, kind)  # which names what is wrong

    def _check_floats(self, data: bytes) -> None:
        """Refuse what could not be read again: msgspec writes NaN and infinity as null."""
        try:
            self._decoder.decode(data)
        except ValueError as exc:
            raise SerializationError(
                f"expected {self.name}: JSON has no NaN and no infinity: {exc}"
            ) from exc

    def __eq__(self, other: object) -> bool:
        """Compare type and options."""
        return isinstance(other, JsonSerde) and self._options == other._options

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by type and options."""
        return _rebuild, self._options


def _rebuild(
    type_: type,
    name: str | None,
    strict: bool,
    enc_hook: Callable[[Any], Any] | None,
    dec_hook: Callable[[type, Any], Any] | None,
) -> Serde[Any]:
    return json_serde(type_, name=name, strict=strict, enc_hook=enc_hook, dec_hook=dec_hook)
