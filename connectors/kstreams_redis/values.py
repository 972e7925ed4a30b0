"""Conversion of values to Redis's types: bytes, or fields of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

__all__ = ("Fields", "Scalar", "Value", "as_bytes", "as_fields")

Scalar: TypeAlias = str | bytes | int | float
"""A value that Redis stores as bytes: text as UTF-8, numbers in decimal."""
Fields: TypeAlias = Mapping[str, Scalar]
"""Fields of a hash, or of an entry of a stream."""
Value: TypeAlias = Scalar | Fields
"""A value of a key: a string of bytes, or a hash."""

_LARGEST_BYTES = 512 * 1024 * 1024
_MOST_FIELDS = 1_000


def as_bytes(value: object, what: str) -> bytes:
    """Return a value's bytes.

    Args:
        value: Text, bytes or a number.
        what: A name of the value, for the error.

    Raises:
        TypeError: The value has another type.
        ValueError: The value is larger than Redis allows.
    """
    match value:
        case bytes():
            found = value
        case str():
            found = value.encode()
        case bool():
            raise TypeError(f"{what} is a bool, which Redis cannot store: use 0 or 1")
        case int() | float():
            found = repr(value).encode()
        case _:
            raise TypeError(
                f"{what} is a {type(value).__name__}; expected text, bytes, int or float"
            )
    if len(found) > _LARGEST_BYTES:
        raise ValueError(f"{what} has {len(found):,} bytes; the maximum is {_LARGEST_BYTES:,}")
    return found


def as_fields(fields: Mapping[str, object]) -> list[bytes]:
    """Return alternating names and values of fields.

    Raises:
        TypeError: A name is not text, or `as_bytes` does not support a value.
        ValueError: There are too many fields, or a field is too large.
    """
    if len(fields) > _MOST_FIELDS:
        raise ValueError(f"the mapping has {len(fields):,} fields; the maximum is {_MOST_FIELDS:,}")
    found: list[bytes] = []
    for name, value in fields.items():
        if not isinstance(name, str):
            raise TypeError(f"a field name must be a text, got a {type(name).__name__}")
        found += (name.encode(), as_bytes(value, f"field {name[:80]!r}"))
    return found
