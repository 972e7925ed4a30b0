"""The processor of `suppress`: buffers records, and forwards the last one of each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
"""Type of the input values."""
VOut = TypeVar("VOut", covariant=True)
"""Type of the forwarded values."""


class SuppressProcessor(ClosureProcessor[K, VIn, K, VOut]):
    """Buffers the last record of each key, and forwards it when it is due.

    Records are ordered by their base time: the end of the record's window, or the timestamp of the
    key's first record. A record is due when `rules.closed_end` reaches the base time: when its
    window closes, or when the time limit has passed. Due records are released after each put,
    before the bounds are checked, and whenever stream time advances; or at the end of the batch
    instead.

    Args:
        until: The release condition, and the bounds of the buffer.
        store: Definition of the buffer.
        at_batch_end: Whether records are released, and bounds checked, only at the end of a batch,
            when the upstream aggregation forwards its last results.

    Source: `KTableSuppressProcessorSupplier#enforceConstraints` of Kafka Streams, which also
    releases due records after each put.
    """

    keeps_key: ClassVar[bool] = True

    def __init__(
        self,
        until: UntilWindowCloses | UntilTimeLimit,
        store: StoreSpec[Any],
        *,
        at_batch_end: bool = False,
    ) -> None:
        self._until = until
        self._store = store
        self._at_batch_end = at_batch_end

    def bind(self, context: ProcessorContext[K, VOut]) -> Callable[[Record[K, VIn]], None]:
        """Return the function that processes a record."""
        until = self._until
        buffer: BufferRows[Any, Any] = BufferRows.of(context.store(self._store))
        buffer.measure(wanted=until.max_bytes is not None)
        if isinstance(until, UntilWindowCloses):
            interval, delay = until.windows.close_interval_ms, until.windows.close_delay_ms
        else:
            interval, delay = 1, until.limit_ms
        held = _HeldRecords(buffer, delay, context.forward)
        after_put, on_time = self._releases(context, held, _Limit(until, buffer, context.forward))
        context.schedule(
            milliseconds(interval), PunctuationType.STREAM_TIME, on_time, name="release"
        )
        context.on_end_of_run(held.release_all)
        by_window = isinstance(until, UntilWindowCloses)

        def process(record: Record[Any, Any]) -> None:
            if record.key is None:
                context.drop("null-key")
            elif by_window and record.value is None:
                buffer.delete(record.key)
            else:
                held.put(record, record.key.end_ms if by_window else record.timestamp)
                after_put()

        return process

    def _releases(
        self, context: ProcessorContext[Any, Any], held: _HeldRecords, limit: _Limit
    ) -> tuple[Callable[[], None], Callable[[int], None]]:
        """Return the functions to call after a put, and when stream time advances."""
        if self._at_batch_end:

            def settle(_: Sequence[int]) -> None:
                held.release(context.stream_time)
                limit.make_room()

            wait = context.hold(settle)
            return lambda: wait(0), wait

        def enforce() -> None:
            held.release_due(context.stream_time)
            limit.make_room()

        return enforce, held.release


class _HeldRecords:
    """Puts records into a buffer, and releases them when they are due.

    Args:
        buffer: The buffer.
        delay_ms: The time a record stays in the buffer, in ms, from its timestamp or window end.
        forward: Forwards a released record.
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
        self._next = -FAR_MS  # a lower bound of all places, which saves reads of the buffer

    def put(self, record: Record[Any, Any], time_ms: int) -> None:
        """Buffer a record with the base time `time_ms`, or replace the record of its key.

        A replaced record's base time stays.
        """
        self._next = min(self._next, self._buffer.put(record, time_ms))

    def release(self, now: int) -> None:
        """Release due records, and update the lower bound `_next`; called by a punctuator.

        Unlike the processing of a record, a punctuator call is never undone.
        """
        if self.release_due(now):
            following = self._buffer.next_timer()
            self._next = FAR_MS if following is None else following

    def release_due(self, now: int) -> bool:
        """Forward the records that are due at a stream time, in ms.

        The lower bound `_next` does not change: if the current record fails, the released records
        are restored to the buffer.

        Returns:
            False if the bound shows that no record is due.
        """
        until = closed_end(now, self._delay)
        if until < self._next:
            return False
        for record in self._buffer.take_until(until):
            self._forward(record)
        return True

    def release_all(self) -> None:
        """Forward all records of the buffer."""
        self._next = FAR_MS
        for record in self._buffer.take_until(FAR_MS):
            self._forward(record)


class _Limit:
    """Keeps a buffer within its bounds.

    Args:
        until: The bounds, and the policy for a full buffer.
        buffer: The buffer.
        forward: Forwards the records that are released early.
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
        """Release the first records until the buffer is within its bounds.

        Raises:
            LimitError: The buffer exceeds its bounds, and records must not be released early.
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
        early = "" if is_final else ", or allow early results with full='emit-early'"
        return LimitError(
            f"the buffer of suppress has reached its limit of {held}",
            hint=f"raise max_records or max_bytes{early}.",
        )
