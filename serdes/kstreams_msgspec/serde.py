"""A serde of Python's own types, with one of msgspec's encoders and decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import msgspec
import pyarrow as pa
from typing_extensions import override

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import FieldType, objects_of
from kstreams_msgspec.encoder import OrderedEncoder, has_other_keys
from kstreams_msgspec.lines import decode_as_lines, encode_as_lines
from kstreams_msgspec.shape import (
    classes_of,
    contains,
    field_types,
    has_value_bytes,
    is_immutable,
    type_name,
)
from kstreams_msgspec.some_fields import SomeFields

__all__ = ("Coding", "DecHook", "EncHook", "TypedSerde")

T = TypeVar("T")
"""The type that is decoded to."""

EncHook = Callable[[Any], Any]
"""Converts an object of an unsupported type to one of a supported type."""

DecHook = Callable[[type, Any], Any]
"""Converts a decoded value back to an object, given the type and the value."""

_SHOWN_BYTES = 40
_ENCODE_ERRORS = (TypeError, ValueError, OverflowError, RecursionError, AttributeError)
_DECODE_ERRORS = (  # errors of msgspec, and of hooks and constructors for invalid input
    *(ValueError, RecursionError, TypeError),
    *(LookupError, AttributeError, ArithmeticError),
)


@dataclass(frozen=True)
class Coding:
    """A format of msgspec.

    Args:
        name: The prefix of the names of serdes.
        title: The name of the format in texts.
        encoder: The class of its encoders.
        decoder: The class of its decoders.
        native: Types of the format that JSON would write as text.
    """

    name: str
    title: str
    encoder: Callable[..., Any]
    decoder: Callable[..., Any]
    native: tuple[type, ...] = ()


class TypedSerde(Serde[T]):
    """The base of serdes; derive and set `coding`. Compares and pickles by type and options.

    Args:
        type_: The type of decoded values; `object` for any value.
        name: The name recorded with the state instead of the type's name.
        strict: Whether to accept only values of the exact type; False also accepts the text "1" for
            an int.
        enc_hook: Converts objects of types that msgspec does not support.
        dec_hook: Converts decoded values back.

    Raises:
        TypeError: The type cannot be written, and there are no hooks.
    """

    __slots__ = (
        "_classes",
        "_containers",
        "_decode_lines",
        "_decoder",
        "_encode_lines",
        "_encoder",
        "_has_floats",
        "_options",
        "_readers",
        "hashes_by_bytes",
        "immutable",
        "name",
        "shape",
        "type_token",
    )

    coding: ClassVar[Coding]
    """The format."""

    shape: msgspec.inspect.Type
    """msgspec's description of the type."""

    def __init__(
        self,
        type_: object,
        name: str | None,
        *,
        strict: bool,
        enc_hook: EncHook | None,
        dec_hook: DecHook | None,
    ) -> None:
        type_ = Any if type_ is object else type_
        self.shape = shape = msgspec.inspect.type_info(type_)
        if dec_hook is None and contains(shape, msgspec.inspect.CustomType):
            raise TypeError(
                f"{type_name(type_)} cannot be decoded from {self.coding.title}\n"
                "Hint: use a dataclass, or give enc_hook= and dec_hook=."
            )
        self.name = self._default_name(type_) if name is None else name
        self.type_token = object if type_ is Any else type_
        self.immutable = is_immutable(shape)
        self.hashes_by_bytes = has_value_bytes(shape)
        self._has_floats = contains(shape, msgspec.inspect.FloatType)
        self._classes = classes_of(shape)
        self._containers = tuple(cls for cls in self._classes if cls in (dict, list, tuple))
        self._options = (type_, name, strict, enc_hook, dec_hook)
        self._readers: dict[tuple[str, ...], SomeFields | None] = {}
        coding = self.coding
        self._encoder: Any = (
            OrderedEncoder(coding.encoder, coding.native, enc_hook)
            if has_other_keys(shape)
            else coding.encoder(enc_hook=enc_hook, order="deterministic")
        )
        self._decoder = self.coding.decoder(type_, strict=strict, dec_hook=dec_hook)
        self._decode_lines = getattr(self._decoder, "decode_lines", None)  # JSON's have them
        self._encode_lines = getattr(self._encoder, "encode_lines", None)

    def _default_name(self, type_: object) -> str:
        """Return the default name of the serde for a type."""
        return f"{self.coding.name}[{type_name(type_)}]"

    @override
    def serialize(self, value: T) -> bytes:
        classes = self._classes
        if classes and type(value) not in classes and not isinstance(value, self._containers):
            raise SerializationError(
                f"expected {self.name}, got {type(value).__name__}: {value!r:.{_SHOWN_BYTES}}"
            )
        try:
            data: bytes = self._encoder.encode(value)
        except _ENCODE_ERRORS as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc
        return data

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        encode = self._encoder.encode
        present = set(map(type, values))
        if self._classes and not (present - {type(None)}).issubset(self._classes):
            return super().serialize_many(values)
        try:
            if self._encode_lines is not None and type(None) not in present:
                found = encode_as_lines(self._encode_lines, values)
                if found is not None:
                    return found
            data = [None if value is None else encode(value) for value in values]
        except _ENCODE_ERRORS:
            return super().serialize_many(values)
        return pa.array(data, pa.binary())

    def deserialize(self, data: bytes) -> T:
        """Decode; the error of a `DeserializationError` names the path to the wrong field."""
        try:
            value: T = self._decoder.decode(data)
        except _DECODE_ERRORS as exc:
            raise DeserializationError(
                f"expected {self.name}: {exc}; got {bytes(data[:_SHOWN_BYTES])!r}"
            ) from exc
        return value

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        decode, lines = self._decoder.decode, self._decode_lines
        try:
            if not data.null_count:
                found = None if lines is None else decode_as_lines(lines, data)
                return list(map(decode, objects_of(data))) if found is None else found
            return [None if item is None else decode(item) for item in objects_of(data)]
        except _DECODE_ERRORS:
            return super().deserialize_many(data)

    @property
    @override
    def field_types(self) -> Mapping[str, FieldType]:
        return {} if self._options[4] is not None else field_types(self.shape)

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        found = self._some_fields(column, {name: kind})
        return super().field(column, name, kind) if found is None else found[name]

    def read_fields(
        self, column: pa.Array, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array]:
        """Return several fields of each value as columns; skip other fields if possible.

        Errors in skipped fields are not detected.
        """
        found = self._some_fields(column, kinds)
        return super().read_fields(column, kinds) if found is None else found

    def _some_fields(
        self, column: pa.Array, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array] | None:
        """Return some fields of each value; None if whole values must be decoded."""
        names = tuple(kinds)
        if names not in self._readers:  # made once: it takes a class of its own
            type_, _, strict, _, dec_hook = self._options
            made = None
            if dec_hook is None and names:
                made = SomeFields.of(type_, names, self.coding.decoder, strict=strict)
            self._readers[names] = made
        reader = self._readers[names]
        if reader is None:
            return None
        try:
            lists = reader.read(column.drop_null() if column.null_count else column)
            if column.null_count:
                valid = column.is_valid().to_pylist()
                lists = [_spread(each, valid) for each in lists]
            return {
                name: pa.array(each, kind)
                for each, (name, kind) in zip(lists, kinds.items(), strict=True)
            }
        except (*_DECODE_ERRORS, pa.ArrowException):
            return None  # decoding whole values names the error

    def to_json(self, value: T) -> object:
        """Return the JSON form of an object, for output to people."""
        return msgspec.to_builtins(
            value, str_keys=True, enc_hook=self._options[3], order="deterministic"
        )

    def from_json(self, content: object) -> T:
        """Convert the result of `to_json` back; `ValueError` if the content is invalid."""
        type_, _, strict, _, dec_hook = self._options
        value: T = msgspec.convert(content, type_, strict=strict, dec_hook=dec_hook, str_keys=True)
        return value

    def __eq__(self, other: object) -> bool:
        """Compare format, type and options."""
        return type(self) is type(other) and self._options == getattr(other, "_options", None)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by type and options."""
        return _rebuild, (type(self), *self._options)


def _spread(values: list[Any], valid: list[bool]) -> list[Any]:
    """Return the values, with None at the rows that are not valid."""
    found = iter(values)
    return [next(found) if good else None for good in valid]


def _rebuild(
    kind: type[TypedSerde[Any]],
    type_: object,
    name: str | None,
    strict: bool,
    enc_hook: EncHook | None,
    dec_hook: DecHook | None,
) -> Serde[Any]:
    return kind(type_, name, strict=strict, enc_hook=enc_hook, dec_hook=dec_hook)
