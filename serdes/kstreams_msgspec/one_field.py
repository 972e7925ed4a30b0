"""Decoding of only one field of many values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import inspect

from kstreams.serde import objects_of
from kstreams_msgspec.lines import decode_as_lines

__all__ = ("OneField",)

_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


class OneField:
    """Reads one field; msgspec skips the others without creating objects.

    Args:
        shape: A Struct with the `field` to read.
        decoder: The class of the format's decoders.
        strict: Whether to accept only values of the exact type.
    """

    def __init__(
        self, shape: type[msgspec.Struct], decoder: Callable[..., Any], *, strict: bool
    ) -> None:
        self._decoder = decoder(shape, strict=strict)
        self._decode_lines = getattr(self._decoder, "decode_lines", None)  # JSON's has it

    @classmethod
    def of(
        cls, type_: object, name: str, decoder: Callable[..., Any], *, strict: bool
    ) -> OneField | None:
        """Return a reader of one field of a type's values.

        None if the validity of a value, or the presence of the field, depends on the whole value:
        defaults, tags, unions, forbidden fields.
        """
        info = inspect.type_info(type_)
        if isinstance(info, inspect.DictType | inspect.AnyType):
            return cls(_by_key(name, Any), decoder, strict=strict)
        if not isinstance(info, _OBJECTS):
            return None
        by_place = isinstance(info, inspect.StructType) and info.array_like
        if isinstance(info, inspect.StructType) and (
            info.tag is not None or info.forbid_unknown_fields
        ):
            return None
        names = [field.name for field in info.fields]
        found = info.fields[names.index(name)] if name in names else None
        if found is None or not found.required:
            return None
        annotation = get_type_hints(info.cls, include_extras=True)[name]
        if by_place:
            return cls(_by_place(names.index(name), annotation), decoder, strict=strict)
        return cls(_by_key(found.encode_name, annotation), decoder, strict=strict)

    def read(self, documents: pa.Array) -> list[Any]:
        """Return the field of each value of a `binary` array without nulls.

        Raises:
            ValueError: A value is not an object, lacks the field, or has another type. Errors of
                other fields are not found.
        """
        found, decode = None, self._decoder.decode
        if self._decode_lines is not None:
            found = decode_as_lines(self._decode_lines, documents)
        if found is None:
            found = [decode(document) for document in objects_of(documents)]
        return [each.field for each in found]


def _by_key(key: str, annotation: object) -> type[msgspec.Struct]:
    """Return a Struct with one field, given the field's key in the bytes."""
    return msgspec.defstruct("OneField", [("field", annotation)], rename={"field": key})


def _by_place(place: int, annotation: object) -> type[msgspec.Struct]:
    """Return a Struct whose last field is the one to read; earlier fields are skipped."""
    before = [(f"before_{number}", msgspec.Raw) for number in range(place)]
    return msgspec.defstruct("OneField", [*before, ("field", annotation)], array_like=True)
