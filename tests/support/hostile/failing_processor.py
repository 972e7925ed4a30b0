"""Failures that a hostile record orders from a processor: all errors that Python can raise."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from kstreams import FixedKeyProcessor, ProcessorContext, Record, Serde
from kstreams.errors import KStreamsError, ProcessingError
from kstreams_json import json_serde

__all__ = ("BAD", "DROPPED", "FORWARDED", "MARKER", "ORDERS", "Obey", "Order")

MARKER = "<<kstreams-error:gASVKAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjA1leGl0IDc=>>"
"""A text that looks like an error on its way from a worker to the driver."""


@dataclass(frozen=True)
class Order:
    """A record's value: the action of the processor, and a text to forward."""

    do: str
    text: str = ""


ORDERS: Serde[Order] = json_serde(Order, name="order")


class _TextRaises(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class _TextIsNone(Exception):
    def __str__(self) -> str:
        text: Any = None
        return text  # type: ignore[no-any-return]


class _TextExits(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class _NotOurs(BaseException):
    pass


class _Half(KStreamsError):
    """Derives from the root class and does not call its `__init__`."""

    def __init__(self, *, code: int) -> None:
        self.code = code


class _NeedsArguments(ProcessingError):
    def __init__(self, first: object, second: object) -> None:
        super().__init__(f"{first} {second}")
        self.lock = threading.Lock()


class _HoldsLock(Exception):
    def __init__(self) -> None:
        super().__init__("held", threading.Lock(), lambda: None, sys._getframe())

    def __reduce__(self) -> NoReturn:
        raise TypeError("not to be pickled")


class _NoAttributes(Exception):
    def __getattr__(self, name: str) -> NoReturn:
        raise KeyError(name)


_ODD_NAME = type(f"Odd\n{MARKER}\x1b[2J", (Exception,), {"__module__": "no\nmodule"})


def _raise(exc: BaseException) -> NoReturn:
    raise exc


def _circle() -> NoReturn:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def _deep(depth: int = 0) -> int:
    return _deep(depth + 1) + 1


_RAISING: dict[str, Callable[[str], object]] = {
    "value-error": lambda text: _raise(ValueError(text)),
    "quotes": lambda text: int(f"{text}x"),
    "text-raises": lambda _: _raise(_TextRaises()),
    "text-is-none": lambda _: _raise(_TextIsNone()),
    "text-exits": lambda _: _raise(_TextExits()),
    "system-exit": lambda _: sys.exit(3),
    "exit-text": lambda text: sys.exit(text),
    "base": lambda text: _raise(_NotOurs(text)),
    "cancelled": lambda _: _raise(asyncio.CancelledError()),
    "recursion": lambda _: _deep(),
    "stop-iteration": lambda _: next(iter(())),
    "stop-async-iteration": lambda _: _raise(StopAsyncIteration()),
    "generator-exit": lambda _: _raise(GeneratorExit()),
    "memory": lambda _: _raise(MemoryError()),
    "assertion": lambda text: _raise(AssertionError(text)),
    "odd-name": lambda text: _raise(_ODD_NAME(text)),
    "half-ours": lambda _: _raise(_Half(code=1)),
    "ours": lambda text: _raise(ProcessingError(text)),
    "ours-with-arguments": lambda text: _raise(_NeedsArguments(text, MARKER)),
    "huge-text": lambda _: _raise(ValueError("\x1b" + "y" * 3_000_000)),
    "lone-surrogate": lambda _: _raise(ValueError("\ud800\udfff")),
    "holds-lock": lambda _: _raise(_HoldsLock()),
    "no-attributes": lambda _: _raise(_NoAttributes()),
    "circle": lambda _: _circle(),
    "unicode": lambda _: b"\xff".decode(),
    "key-error": lambda text: {}[text],  # type: ignore[index]
}

_MAKING: dict[str, Callable[[Record[str, Order]], Record[Any, Any]]] = {
    "value-of-other-type": lambda record: record.with_value(7),
    "value-with-lone-surrogate": lambda record: record.with_value(Order("forward", "\ud800")),
    "value-that-is-circular": lambda record: record.with_value(_round()),
    "no-time": lambda record: _remade(record, timestamp=None),
    "time-of-other-type": lambda record: _remade(record, timestamp="noon"),
    "time-beyond-int64": lambda record: _remade(record, timestamp=1 << 70),
    "header-of-other-type": lambda record: _remade(record, headers=(("a", 7),)),
    "header-with-lone-surrogate": lambda record: _remade(record, headers=(("\ud800", b""),)),
}


def _round() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def _remade(record: Record[str, Order], **given: Any) -> Record[str, Order]:
    parts = {"timestamp": record.timestamp, "headers": record.headers, **given}
    return Record(record.key, record.value, **parts)


FORWARDED = ("forward",)
"""Orders after which the record is forwarded."""

DROPPED = ("drop",)
"""Orders after which the processor drops the record, and counts it."""

BAD = (*_RAISING, *_MAKING)
"""Orders that fail."""


class Obey(FixedKeyProcessor[str, Order, Order]):
    """Executes the order in a record."""

    def init(self, context: ProcessorContext[str, Order]) -> None:
        self.context = context

    def process(self, record: Record[str, Order]) -> None:
        do = record.value.do
        if do == "drop":
            self.context.drop("asked-for")
        elif do in _RAISING:
            _RAISING[do](record.value.text)
        elif do in _MAKING:
            self.context.forward(_MAKING[do](record))
        else:
            self.context.forward(record)
