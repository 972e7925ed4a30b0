"""Decoding one field of many JSON values, and nothing else of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_type_hints

import msgspec
from msgspec import inspect

__all__ = ("OneField",)

_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


class OneField:
    """Reads one field; msgspec passes over the others without making objects of them.

    Args:
        key: The field's key in the JSON text.
        annotation: The field's type.
        strict: Take only what JSON says.
    """

    def __init__(self, key: str, annotation: object, *, strict: bool) -> None:
        shape = msgspec.defstruct("OneField", [("field", annotation)], rename={"field": key})
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape, strict=strict)

    @classmethod
    def of(cls, type_: object, name: str, *, strict: bool) -> OneField | None:
        """Return what reads a field of a type's values.

        None when a value can be right or wrong, or have the field, in ways that only the
        whole value tells: defaults, tags, unions, fields that are forbidden.
        """
        info = inspect.type_info(type_)
        if isinstance(info, inspect.DictType | inspect.AnyType):
            return cls(name, Any, strict=strict)
        if not isinstance(info, _OBJECTS):
            return None
        if isinstance(info, inspect.StructType) and (
            info.tag is not None or info.array_like or info.forbid_unknown_fields
        ):
            return None
        found = next((field for field in info.fields if field.name == name), None)
        if found is None or not found.required:
            return None
        annotation = get_type_hints(info.cls, include_extras=True)[name]
        return cls(found.encode_name, annotation, strict=strict)

    def read(self, items: Sequence[bytes]) -> list[Any]:
        """Return the field of each value.

        Raises:
            ValueError: A value is no JSON object, or has no such field, or another type's.
        """
        lines = b"\n".join(items)
        if lines.count(b"\n") == len(items) - 1:
            found = self._decoder.decode_lines(lines)
            if len(found) == len(items):  # else some are blank
                return [each.field for each in found]
        decode = self._decoder.decode
        return [decode(item).field for item in items]
