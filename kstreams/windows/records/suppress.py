"""The processor of `suppress`: holds records back, and forwards the last of each key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from kstreams._types import K
from kstreams.durations import milliseconds
from kstreams.errors import LimitError
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import FAR_MS
from kstreams.windows.rules import closed_end
from kstreams.windows.suppression import UntilTimeLimit, UntilWindowCloses

__all__ = ("SuppressProcessor",)

VIn = TypeVar("VIn", contravariant=True)
"""Type of the values that come in."""
VOut = TypeVar("VOut", covariant=True)
"""Type of the values that are forwarded."""


class SuppressProcessor(ClosureProcessor[K, VIn, K, VOut]):
    """Keeps one record a key in a buffer, by the time that its release counts from.

    That is the end of its window, or the timestamp of the key's first record. A window's
    result is released when `rules.closed_end` reaches its end: when the window closes.

    Args:
        until: When records are released, and how many may wait.
        store: Definition of the buffer.
    """

    keeps_key: ClassVar[bool] = True

    def __init__(self, until: UntilWindowCloses | UntilTimeLimit, store: StoreSpec[Any]) -> None:
        self._until = until
        self._store = store

    def bind(self, context: ProcessorContext[K, VOut]) -> Callable[[Record[K, VIn]], None]:
        """Return what takes a record."""
        until = self._until
        buffer: BufferRows[Any, Any] = BufferRows.of(context.store(self._store))
        buffer.measure(wanted=until.max_bytes is not None)
        by_window = isinstance(until, UntilWindowCloses)
        if isinstance(until, UntilWindowCloses):
            interval, delay = until.windows.close_interval_ms, until.windows.close_delay_ms
        else:
            interval, delay = 1, until.limit_ms
        held = _HeldRecords(buffer, delay, context.forward)
        limit = _Limit(until, buffer, context.forward)
        is_limited = until.max_records is not None or until.max_bytes is not None
        context.schedule(
            milliseconds(interval), PunctuationType.STREAM_TIME, held.release, name="release"
        )
        context.on_end_of_run(held.release_all)

        def process(record: Record[Any, Any]) -> None:
            if record.key is None:
                context.drop("null-key")
            elif by_window and record.value is None:
                buffer.delete(record.key)
            else:
                held.put(record, record.key.end_ms if by_window else record.timestamp)
                if is_limited:
                    limit.make_room()

        return process


class _HeldRecords:
    """Holds records in a buffer, and releases them when stream time has come.

    Args:
        buffer: The buffer.
        delay_ms: From a record's place in the buffer until it is released.
        forward: Takes records.
    """

    def __init__(
        self,
        buffer: BufferRows[Any, Any],
        delay_ms: int,
        forward: Callable[[Record[Any, Any]], None],
    ) -> None:
        self._buffer = buffer
        self._delay = delay_ms
        self._forward = forward
        self._next = -FAR_MS  # no record stands before it: a hint that saves looks at the buffer

    def put(self, record: Record[Any, Any], time_ms: int) -> None:
        """Hold a record; a key that has one keeps its place."""
        self._next = min(self._next, self._buffer.put(record, time_ms))

    def release(self, now: int) -> None:
        """Forward what is due at a stream time, ms."""
        until = closed_end(now, self._delay)
        if until < self._next:
            return
        for record in self._buffer.take_until(until):
            self._forward(record)
        following = self._buffer.next_timer()
        self._next = FAR_MS if following is None else following

    def release_all(self) -> None:
        """Forward all there is."""
        self._next = FAR_MS
        for record in self._buffer.take_until(FAR_MS):
            self._forward(record)


class _Limit:
    """Keeps a buffer within its bounds.

    Args:
        until: The bounds, and what to do where they are passed.
        buffer: The buffer.
        forward: Takes records that are released early.
    """

    def __init__(
        self,
        until: UntilWindowCloses | UntilTimeLimit,
        buffer: BufferRows[Any, Any],
        forward: Callable[[Record[Any, Any]], None],
    ) -> None:
        self._until = until
        self._records, self._bytes = until.max_records, until.max_bytes
        self._buffer = buffer
        self._forward = forward

    def make_room(self) -> None:
        """Release what stands first while there is too much.

        Raises:
            LimitError: There is too much, and nothing may be released early.
        """
        while self._is_passed():
            if self._until.full == "fail":
                raise self._error()
            first = self._buffer.take_first()
            if first is None:
                return
            self._forward(first)

    def _is_passed(self) -> bool:
        records, size = self._records, self._bytes
        return (records is not None and self._buffer.count() > records) or (
            size is not None and self._buffer.size_bytes() > size
        )

    def _error(self) -> LimitError:
        bounds = ((self._records, "records"), (self._bytes, "bytes"))
        held = " or ".join(f"{bound:,} {unit}" for bound, unit in bounds if bound) or "nothing"
        is_final = isinstance(self._until, UntilWindowCloses)
        early = "" if is_final else ", or let it release early: full='emit-early'"
        return LimitError(
            f"suppress holds back {held} already, which is its limit",
            hint=f"raise max_records or max_bytes{early}.",
        )
