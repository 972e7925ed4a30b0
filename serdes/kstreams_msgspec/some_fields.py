"""Decoding of only some fields of many values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, get_type_hints

import msgspec
import pyarrow as pa
from msgspec import inspect

from kstreams.serde import objects_of
from kstreams_msgspec.lines import decode_as_lines

__all__ = ("SomeFields",)

_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


class SomeFields:
    """Reads some fields; msgspec skips the others without creating objects.

    Args:
        shape: A Struct with the fields to read, which are named `field_0`, `field_1` and so on.
        count: The number of fields.
        decoder: The class of the format's decoders.
        strict: Whether to accept only values of the exact type.
    """

    def __init__(
        self, shape: type[msgspec.Struct], count: int, decoder: Callable[..., Any], *, strict: bool
    ) -> None:
        self._getters = [attrgetter(_called(number)) for number in range(count)]
        self._decoder = decoder(shape, strict=strict)
        self._decode_lines = getattr(self._decoder, "decode_lines", None)  # JSON's has it

    @classmethod
    def of(
        cls, type_: object, names: Sequence[str], decoder: Callable[..., Any], *, strict: bool
    ) -> SomeFields | None:
        """Return a reader of some fields of a type's values.

        None if the validity of a value, or the presence of a field, depends on the whole value:
        defaults, tags, unions, forbidden fields.
        """
        info = inspect.type_info(type_)
        count = len(names)
        if isinstance(info, inspect.DictType | inspect.AnyType):
            return cls(_by_key([(name, Any) for name in names]), count, decoder, strict=strict)
        if not isinstance(info, _OBJECTS):
            return None
        by_place = isinstance(info, inspect.StructType) and info.array_like
        if isinstance(info, inspect.StructType) and (
            info.tag is not None or info.forbid_unknown_fields
        ):
            return None
        places = {field.name: place for place, field in enumerate(info.fields)}
        if not all(name in places and info.fields[places[name]].required for name in names):
            return None
        hints = get_type_hints(info.cls, include_extras=True)
        if by_place:
            by_field = {places[name]: hints[name] for name in names}
            order = [places[name] for name in names]
            return cls(_by_place(by_field, order), count, decoder, strict=strict)
        keys = [(info.fields[places[name]].encode_name, hints[name]) for name in names]
        return cls(_by_key(keys), count, decoder, strict=strict)

    def read(self, documents: pa.Array) -> list[list[Any]]:
        """Return the values of each field of a `binary` array without nulls.

        Raises:
            ValueError: A value is not an object, lacks a field, or has another type. Errors of
                other fields are not found.
        """
        found, decode = None, self._decoder.decode
        if self._decode_lines is not None:
            found = decode_as_lines(self._decode_lines, documents)
        if found is None:
            found = [decode(document) for document in objects_of(documents)]
        return [list(map(get, found)) for get in self._getters]


def _called(number: int) -> str:
    return f"field_{number}"


def _by_key(fields: Sequence[tuple[str, object]]) -> type[msgspec.Struct]:
    """Return a Struct of some fields, given their keys in the bytes and their types."""
    members = [(_called(number), kind) for number, (_, kind) in enumerate(fields)]
    keys = {_called(number): key for number, (key, _) in enumerate(fields)}
    return msgspec.defstruct("SomeFields", members, rename=keys, gc=False)


def _by_place(kinds: dict[int, object], order: Sequence[int]) -> type[msgspec.Struct]:
    """Return a Struct that skips the fields at other places.

    Args:
        kinds: The types of the fields to read, by place.
        order: The places of `field_0`, `field_1` and so on.
    """
    members = [
        (_called(order.index(place)), kinds[place])
        if place in kinds
        else (f"skipped_{place}", msgspec.Raw)
        for place in range(max(kinds) + 1)
    ]
    return msgspec.defstruct("SomeFields", members, array_like=True)
