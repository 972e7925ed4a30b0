"""Conversion of results to DynamoDB items, and rejection of invalid items."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from kstreams import Record
from kstreams_dynamodb.sdk import TypeSerializer
from kstreams_rows.encoding import Change

__all__ = ("Attributes", "Item", "ItemMaker", "Key", "KeyType", "formed_key")

Attributes: TypeAlias = Mapping[str, object]
"""Attributes of an item: text, numbers, bytes, bools, None, lists, mappings and sets of them."""
Item: TypeAlias = dict[str, dict[str, Any]]
"""An item in DynamoDB's own form: each value is an object with the letter of its type."""
Key: TypeAlias = tuple[tuple[str, str, "str | bytes"], ...]
"""Name, type letter and value of each key attribute; equal keys belong to the same item."""
KeyType: TypeAlias = Literal["S", "N", "B"]
"""The type of a key attribute: text, number or bytes."""

_SERIALIZER = TypeSerializer()
_LARGEST_ITEM = 400 * 1024
_LARGEST_KEYS = (2048, 1024)
"""The maximum bytes of the first and of the second key attribute."""
_DEEPEST = 32
_NUMBER = 21
"""The maximum bytes of a number."""


@dataclass(frozen=True)
class ItemMaker:
    """Builds items of a table.

    Attributes:
        key: The key attributes of the table, one or two.
        types: The types of the key attributes and of the keys of the table's indexes.
    """

    key: tuple[str, ...]
    types: Mapping[str, KeyType]

    def change(self, record: Record[Any, Any], attributes: Attributes | None) -> Change[Key, Item]:
        """Return the change of a record's item: a write, or a delete if it has no attributes.

        Raises:
            TypeError: A value has a type DynamoDB cannot store, or a key attribute has a wrong
                type.
            ValueError: The item is too large, or its key differs from the record's key.
        """
        own = self._own_key(record.key)
        if attributes is not None and not isinstance(attributes, Mapping):
            raise TypeError(
                f"row= returned a {type(attributes).__name__}; expected a mapping of attributes, "
                "or None"
            )
        found = {**own, **(attributes or {})}
        for name, value in own.items():
            if found[name] != value:
                raise ValueError(
                    f"row= returned another value of key attribute {name!r} than the record's key, "
                    f"{value!r}"
                )
        item: Item = {name: _formed(name, value) for name, value in found.items()}
        self._check_keys(item)
        size = sum(len(name.encode()) + _size(value, 1) for name, value in item.items())
        if size > _LARGEST_ITEM:
            raise ValueError(f"the item has {size} bytes; the maximum is {_LARGEST_ITEM}")
        key = tuple((name, *_canonical(item[name])) for name in self.key)
        return Change(key, None if attributes is None else item, size)

    def _own_key(self, key: object) -> dict[str, object]:
        if len(self.key) == 1:
            return {self.key[0]: key}
        if not isinstance(key, tuple) or len(key) != len(self.key):
            raise TypeError(
                f"expected a tuple of {len(self.key)} values ({', '.join(self.key)}) as the "
                f"record's key, got {key!r}"
            )
        return dict(zip(self.key, key, strict=True))

    def _check_keys(self, item: Item) -> None:
        """Reject invalid key attributes, of the table or of one of its indexes."""
        for name, kind in self.types.items():
            if name not in item:
                continue
            value = item[name]
            if kind not in value:
                raise TypeError(
                    f"attribute {name!r} is a key of the table or of an index: expected DynamoDB's "
                    f"type {kind}, got {value!r}"
                )
            size = _size(value, 1)
            most = _LARGEST_KEYS[self.key.index(name) if name in self.key else 1]
            if not size or size > most:
                raise ValueError(
                    f"attribute {name!r} is a key of the table or of an index: expected 1 to "
                    f"{most} bytes, got {size}"
                )


def formed_key(key: Key) -> Item:
    """Return a key as DynamoDB's attribute values, such as `{"word": {"S": "tea"}}`."""
    return {name: {kind: value} for name, kind, value in key}


def _canonical(value: Mapping[str, Any]) -> tuple[str, str | bytes]:
    """Return the type letter and the value of a key attribute; 1 and 1.0 give equal results."""
    ((kind, found),) = value.items()
    if kind == "N":
        return kind, format(Decimal(found).normalize(), "f")
    return kind, found if kind == "S" else bytes(found)


def _formed(name: object, value: object) -> dict[str, Any]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"an attribute name must be a text that is not empty, got {name!r}")
    return dict(_SERIALIZER.serialize(_exact(value)))


def _exact(value: object) -> object:
    """Return a value whose floats are replaced by decimal numbers with the same digits.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    match value:
        case float():
            if not math.isfinite(value):
                raise ValueError(f"DynamoDB cannot store the number {value!r}")
            return Decimal(repr(value))
        case Mapping():
            return {name: _exact(each) for name, each in value.items()}
        case list() | tuple():
            return [_exact(each) for each in value]
        case set() | frozenset():
            if not value:
                raise ValueError("DynamoDB cannot store an empty set: leave the attribute out")
            return {_exact(each) for each in value}
    return value


def _size(value: Mapping[str, Any], depth: int) -> int:
    """Return an upper estimate of the bytes of a value.

    Raises:
        ValueError: The value is nested deeper than DynamoDB allows.
    """
    if depth > _DEEPEST:
        raise ValueError(f"the item has more than {_DEEPEST} nested levels, DynamoDB's maximum")
    ((kind, found),) = value.items()
    match kind:
        case "S":
            return len(found.encode())
        case "B":
            return len(bytes(found))
        case "N":
            return min(_NUMBER, len(found) // 2 + 2)
        case "SS":
            return sum(len(each.encode()) for each in found)
        case "BS":
            return sum(len(bytes(each)) for each in found)
        case "NS":
            return sum(min(_NUMBER, len(each) // 2 + 2) for each in found)
        case "L":
            return 3 + sum(1 + _size(each, depth + 1) for each in found)
        case "M":
            return 3 + sum(
                1 + len(name.encode()) + _size(each, depth + 1) for name, each in found.items()
            )
    return 1
