"""Reads what peers write: from a record's bytes to a result's key and value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.suite.peer import Format
from benchmarks.suite.workload import ResultKey, Shape

__all__ = ("Decoder", "Result", "decoder")

Result = tuple[ResultKey, Any]
"""A result's key, and its value; None says that there is no such result any more."""

Decoder = Callable[[bytes, "bytes | None"], Result]

_INT64 = struct.Struct(">q")
_SPAN = struct.Struct(">qq")


def decoder(format: Format, shape: Shape) -> Decoder:  # noqa: A002  # the peer's word for it
    """Return what reads a record of one format."""
    if format == "windowed":
        return {"plain": _plain, "window": _window, "session": _session}[shape]
    return _decimal if format == "decimal" else _json


def _plain(key: bytes, value: bytes | None) -> Result:
    return (key, 0, 0), _number(value)


def _window(key: bytes, value: bytes | None) -> Result:
    return (key[:-8], _INT64.unpack(key[-8:])[0], 0), _number(value)


def _session(key: bytes, value: bytes | None) -> Result:
    end, start = _SPAN.unpack(key[-16:])
    return (key[:-16], start, end), _number(value)


def _number(value: bytes | None) -> Any:
    if value is None:
        return None
    return _INT64.unpack(value)[0] if len(value) == 8 else _value(msgspec.json.decode(value))


def _decimal(key: bytes, value: bytes | None) -> Result:
    return (key, 0, 0), None if value is None else int(value)


def _json(key: bytes, value: bytes | None) -> Result:
    if value is None:
        return (key, 0, 0), None
    found = msgspec.json.decode(value)
    return (key, found.get("start") or 0, found.get("end") or 0), _value(found["value"])


def _value(found: Any) -> Any:
    return tuple(found) if isinstance(found, list) else found
