"""Decodes the output of peers: from a record's bytes to a result's key and value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from benchmarks.suite.peer import Format
from benchmarks.suite.workload import ResultKey, Workload

__all__ = ("Decoder", "Result", "decoder", "keys_tell")

Result = tuple[ResultKey, Any]
"""A result's key and value; a value of None means that the result was deleted."""

Decoder = Callable[[bytes, "bytes | None"], Result]

_INT64 = struct.Struct(">q")
_SPAN = struct.Struct(">qq")


def decoder(format: Format, workload: Workload) -> Decoder:  # noqa: A002  # the peer's attribute
    """Return the decoder for a peer's output format and a workload."""
    if workload.shape == "record":
        return _bid
    if workload.shape == "event":
        return partial(_json, spans=True)
    if format == "decimal":
        return _decimal
    if format == "json":
        return partial(_json, spans=workload.shape == "session")
    read: Callable[[bytes], Any] = _int64 if workload.values == "int64" else _text
    return partial({"plain": _plain, "window": _window, "session": _session}[workload.shape], read)


def keys_tell(format: Format, workload: Workload) -> bool:  # noqa: A002  # the peer's attribute
    """Return whether a record's key alone identifies the result."""
    return format != "json" and workload.shape not in ("record", "event")


def _plain(read: Callable[[bytes], Any], key: bytes, value: bytes | None) -> Result:
    return (key, 0, 0), None if value is None else read(value)


def _window(read: Callable[[bytes], Any], key: bytes, value: bytes | None) -> Result:
    start = _INT64.unpack(key[-8:])[0]
    return (key[:-8], start, 0), None if value is None else read(value)


def _session(read: Callable[[bytes], Any], key: bytes, value: bytes | None) -> Result:
    end, start = _SPAN.unpack(key[-16:])
    return (key[:-16], start, end), None if value is None else read(value)


def _bid(key: bytes, value: bytes | None) -> Result:
    bid = msgspec.json.decode(value or b"null")
    return (key, bid["dateTime"], 0), bid["price"]


def _decimal(key: bytes, value: bytes | None) -> Result:
    return (key, 0, 0), None if value is None else int(value)


def _json(key: bytes, value: bytes | None, *, spans: bool) -> Result:
    if value is None:
        return (key, 0, 0), None
    found = msgspec.json.decode(value)
    end = found.get("end") or 0 if spans else 0
    return (key, found.get("start") or 0, end), _tuple(found["value"])


def _int64(data: bytes) -> Any:
    return _INT64.unpack(data)[0]


def _text(data: bytes) -> Any:
    return _tuple(msgspec.json.decode(data))


def _tuple(found: Any) -> Any:
    return tuple(found) if isinstance(found, list) else found
