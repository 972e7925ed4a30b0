"""The inputs of the serde test suite, and its checks of objects."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.quoting import kind_of, text_of
from kstreams.serde.schema import Schema

__all__ = (
    "WrittenBytes",
    "can_change",
    "damaged",
    "error_of",
    "field_of",
    "outcome",
    "with_hidden_bytes",
)

_UNCHANGING = (
    *(bool, int, float, complex, str, bytes, type(None), type, enum.Enum),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo),
    *(decimal.Decimal, uuid.UUID),
)
_HIDDEN = b"\xffhidden\x00"
_CUTS = 12
_CHANGES = 24

T = TypeVar("T")
"""The type that the serde converts."""

E = TypeVar("E", bound=Exception)
"""The expected error."""


@dataclass(frozen=True)
class WrittenBytes(Generic[T]):
    """Bytes of another program or an earlier version, and their object.

    Args:
        data: The bytes.
        value: The object of the bytes.
        schema: The schema of the writer, if it differs from the serde's.
        golden: Whether the serde writes the object as these bytes.
    """

    data: bytes
    value: T
    schema: Schema | None = None
    golden: bool = False


def error_of(kind: type[E], action: Callable[[], object]) -> E:
    """Return the error that an action raises; any other outcome is an `AssertionError`."""
    try:
        found = action()
    except KeyboardInterrupt:
        raise
    except kind as error:
        return error
    except BaseException as error:
        raise AssertionError(
            f"expected {kind.__name__}, got {kind_of(error)}: {text_of(error)}"
        ) from error
    raise AssertionError(f"expected {kind.__name__}, got the result {found!r}")


def outcome(action: Callable[[], object]) -> object:
    """Return the result of an action, or the `DeserializationError` that it raises."""
    try:
        return action()
    except DeserializationError as error:
        return error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise AssertionError(
            f"expected an object or a DeserializationError, got {kind_of(error)}: {text_of(error)}"
        ) from error


def damaged(data: Sequence[bytes]) -> Iterator[bytes]:
    """Yield damaged forms of good bytes, and bytes that were never valid."""
    random = Random(1)
    yield from (b"", b"\x00", b"\xff" * 9, b"\x80" * 11, b"[" * 5000)
    for good in data:
        yield from (good + b"\x00", good + good, good[1:], b"\x00\x00\x00\x00\x01" + good)
        ends = range(len(good)) if len(good) <= _CUTS else random.sample(range(len(good)), _CUTS)
        yield from (good[:end] for end in ends)
        for _ in range(_CHANGES if good else 0):
            changed = bytearray(good)
            changed[random.randrange(len(good))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, 34, 60))
            yield bytes(changed)


def with_hidden_bytes(items: Sequence[bytes | None]) -> pa.Array:
    """Return a `binary` array whose nulls have bytes in the data buffer, as Arrow allows."""
    stored = [_HIDDEN if item is None else item for item in items]
    offsets = np.cumsum([0, *map(len, stored)]).astype(np.int32)
    valid = np.packbits(np.array([item is not None for item in items], bool), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(stored))]
    return pa.Array.from_buffers(pa.binary(), len(items), buffers)


def field_of(value: object, name: str) -> object:
    """Return a field of an object or a value of a dict; None if the object is None."""
    if value is None:
        return None
    found: object = value[name] if isinstance(value, dict) else getattr(value, name)
    return found


def can_change(value: Any) -> bool:  # noqa: ANN401  # whatever a serde makes
    """Return whether an object, or an object inside it, is mutable."""
    if isinstance(value, _UNCHANGING):
        return False
    if isinstance(value, (tuple, frozenset)):
        return any(map(can_change, value))
    if hasattr(type(value), "__setitem__") or isinstance(value, set):
        return True
    names = list(_fields(value))
    return any(_can_be_set(value, name) for name in names) or any(
        can_change(getattr(value, name)) for name in names
    )


def _fields(value: Any) -> Iterator[str]:  # noqa: ANN401  # likewise
    yield from getattr(value, "__struct_fields__", ())
    yield from vars(value) if hasattr(value, "__dict__") else ()
    if is_dataclass(value):
        yield from (field.name for field in fields(value))


def _can_be_set(value: Any, name: str) -> bool:  # noqa: ANN401  # likewise
    try:
        setattr(deepcopy(value), name, getattr(value, name))
    except Exception:  # noqa: BLE001  # frozen, each kind in its own words
        return False
    return True
