"""The fake librdkafka with its Python interface."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kstreams_kafka.native.library import Kernel

CONSUME, HEADERS_NEW, HEADER_ADD, PRODUCE = range(4)
"""Calls that can be made to fail."""

Pair = tuple[bytes, bytes | None]

_P, _I32, _I64, _SIZE, _TEXT = (
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_size_t,
    ctypes.c_char_p,
)


@dataclass(frozen=True)
class Message:
    """A message in the fake queue.

    Attributes:
        headers: None for a message without headers. A pair that is None cannot be read, nor can
            those after it.
        unreadable: Whether its headers cannot be read at all.
    """

    err: int
    topic: int
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Pair | None, ...] | None
    unreadable: bool = False


@dataclass(frozen=True)
class Sent:
    """A record that the fake producer received; headers are None if it got none."""

    topic: int
    partition: int
    flags: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Pair, ...] | None


class _Pair(ctypes.Structure):
    _fields_ = [("name", _TEXT), ("value", _P), ("len", _SIZE), ("unreadable", _I32)]


class _Headers(ctypes.Structure):
    _fields_ = [("count", _SIZE), ("pairs", ctypes.POINTER(_Pair)), ("unreadable", _I32)]


class _Produced(ctypes.Structure):
    _fields_ = [
        *(("topic", _P), ("partition", _I32), ("flags", _I32), ("timestamp", _I64)),
        *(("value", _P), ("value_len", _SIZE), ("key", _P), ("key_len", _SIZE)),
        ("headers", ctypes.POINTER(_Headers)),
    ]


class Fake:
    """Runs the loops of the C extension with a fake librdkafka, and reads the fake's counters."""

    def __init__(self, path: Path) -> None:
        self._loaded = loaded = ctypes.CDLL(str(path))
        self.kernel = Kernel(loaded, loaded)
        loaded.fake_message.argtypes = (_I32, _P, _I32, _I64, _I64, _TEXT, _SIZE, _TEXT, _SIZE)
        loaded.fake_header.argtypes = (_TEXT, _SIZE, _TEXT, _SIZE)
        loaded.fake_fail.argtypes = (_I32, _I64, _I32)
        loaded.fake_buffer.argtypes, loaded.fake_buffer.restype = (_SIZE,), _P
        loaded.fake_free.argtypes = (_P,)
        loaded.fake_live.restype = _I64
        loaded.fake_kept.restype = _SIZE
        loaded.fake_record.argtypes = (_SIZE,)
        loaded.fake_record.restype = ctypes.POINTER(_Produced)

    def put(self, message: Message) -> None:
        """Add a message to the queue."""
        key, value = message.key, message.value
        sizes = len(key or b""), len(value or b"")
        at = message.topic, message.partition, message.offset, message.timestamp
        self._loaded.fake_message(message.err, *at, key, sizes[0], value, sizes[1])
        if message.headers is None:
            return
        self._loaded.fake_header(None, 0, None, 0)
        for pair in message.headers:
            name, data = pair or (b"?", b"?")
            self._loaded.fake_header(name, len(name), data, len(data or b""))
            if pair is None:
                self._loaded.fake_unreadable(0)
        if message.unreadable:
            self._loaded.fake_unreadable(1)

    def fail(self, call: int, after: int, code: int) -> None:
        """Make a call fail once, after a number of successful ones; 0 is never a failure."""
        self._loaded.fake_fail(call, after, code)

    def live(self) -> int:
        """Return the number of messages, headers and errors that were not freed."""
        return int(self._loaded.fake_live())

    def sent(self) -> list[Sent]:
        """Return the records of the producer, in order."""
        records = (self._loaded.fake_record(i)[0] for i in range(self._loaded.fake_kept()))
        return [
            Sent(
                each.topic,
                each.partition,
                each.flags,
                each.timestamp,
                _bytes(each.key, each.key_len),
                _bytes(each.value, each.value_len),
                _pairs(each.headers[0]) if each.headers else None,
            )
            for each in records
        ]

    def forget(self) -> None:
        """Empty the queue and the producer; messages that were taken still belong to the caller."""
        self._loaded.fake_forget()

    @contextmanager
    def buffers(self) -> Iterator[Buffers]:
        """Yield buffers of exact sizes."""
        lent = Buffers(self._loaded)
        try:
            yield lent
        finally:
            lent.free()


class Buffers:
    """Memory whose bounds are guarded by a sanitizer."""

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded
        self._made: list[int] = []

    def new(self, size: int) -> int:
        """Return a buffer with uninitialized bytes."""
        made: int = self._loaded.fake_buffer(size)
        self._made.append(made)
        return made

    def of(self, data: bytes) -> int:
        """Return a buffer of these bytes."""
        made = self.new(len(data))
        ctypes.memmove(made, data, len(data))
        return made

    def numbers(self, kind: Any, values: Sequence[int]) -> int:
        """Return a buffer of numbers of a ctypes type."""
        return self.of(bytes((kind * len(values))(*values)))

    def free(self) -> None:
        """Free all buffers."""
        for made in self._made:
            self._loaded.fake_free(made)
        self._made.clear()


def _bytes(address: int | None, size: int) -> bytes | None:
    return None if address is None else ctypes.string_at(address, size)


def _pairs(headers: Any) -> tuple[Pair, ...]:
    each = (headers.pairs[i] for i in range(headers.count))
    return tuple((pair.name, _bytes(pair.value, pair.len)) for pair in each)
