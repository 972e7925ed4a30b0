"""Hold results back, and forward the last one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, overload

from kstreams._types import K, V
from kstreams.durations import milliseconds
from kstreams.errors import LimitError
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.processors.store_supplier import StoreSupplier
from kstreams.record import Record
from kstreams.state.stores.buffer.kind import BUFFER
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.windowed import Windowed
from kstreams.windows.suppression import UntilTimeLimit, UntilWindowCloses

__all__ = ("suppress",)

VIn = TypeVar("VIn", contravariant=True)
"""Type of the values that come in."""
VOut = TypeVar("VOut", covariant=True)
"""Type of the values that are forwarded."""

_FAR = 1 << 62


@dataclass(frozen=True)
class _SuppressSupplier(Generic[K, VIn, VOut]):
    """Makes the processors of `suppress`, and brings their store."""

    until: UntilWindowCloses | UntilTimeLimit
    store: StoreSpec[Any]

    def __call__(self) -> ClosureProcessor[K, VIn, K, VOut]:
        """Return a new processor."""
        return _Suppress(self.until, self.store)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)


@overload
def suppress(
    until: UntilWindowCloses, *, store: StoreSpec[BufferStore[Windowed[K], V]]
) -> StoreSupplier[Windowed[K], V | None, Windowed[K], V]: ...
@overload
def suppress(
    until: UntilTimeLimit, *, store: StoreSpec[BufferStore[K, V]]
) -> StoreSupplier[K, V, K, V]: ...
def suppress(
    until: UntilWindowCloses | UntilTimeLimit, *, store: StoreSpec[Any]
) -> StoreSupplier[Any, Any, Any, Any]:
    """Hold a stream of updates back, and forward the last one of each key.

    Args:
        until: `until_window_closes(windows)` or `until_time_limit(...)`.
        store: Definition of the store for what is held back: a `buffer_store`; one that
            is `nullable` to hold tombstones back until a time limit, and release them.

    Raises:
        TopologyError: The store is of another kind.

    Source: `org.apache.kafka.streams.kstream.KTable#suppress`.
    """
    check_kind(store, BUFFER, "suppress needs")
    return _SuppressSupplier(until, store)


class _Suppress(ClosureProcessor[K, VIn, K, VOut]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, until: UntilWindowCloses | UntilTimeLimit, store: StoreSpec[Any]) -> None:
        self._until = until
        self._store = store
        self._next = -_FAR

    def bind(self, context: ProcessorContext[K, VOut]) -> Callable[[Record[K, VIn]], None]:
        buffer: BufferRows[Any, Any] = BufferRows.of(context.store(self._store))
        until = self._until
        buffer.measure(wanted=until.max_bytes is not None)
        if isinstance(until, UntilWindowCloses):
            self._schedule(
                context, buffer, until.windows.close_interval_ms, until.windows.close_delay_ms
            )
            return self._until_close(context, buffer)
        self._schedule(context, buffer, 1, until.limit_ms)
        return self._until_limit(context, buffer)

    def _schedule(
        self,
        context: ProcessorContext[Any, Any],
        buffer: BufferRows[Any, Any],
        interval_ms: int,
        close_delay_ms: int,
    ) -> None:
        forward = context.forward

        def release(now: int) -> None:
            if now - close_delay_ms < self._next:
                return
            for record in buffer.take_until(now - close_delay_ms):
                forward(record)
            following = buffer.next_timer()
            self._next = _FAR if following is None else following

        def release_all() -> None:
            self._next = _FAR
            for record in buffer.take_until(_FAR):
                forward(record)

        context.on_end_of_run(release_all)
        interval = milliseconds(interval_ms)
        context.schedule(interval, PunctuationType.STREAM_TIME, release, name="release")

    def _until_close(
        self, context: ProcessorContext[Any, Any], buffer: BufferRows[Any, Any]
    ) -> Callable[[Record[Any, Any]], None]:
        make_room = self._room(context, buffer)

        def process(record: Record[Any, Any]) -> None:
            if record.key is None:
                context.drop("null-key")
            elif record.value is None:
                buffer.delete(record.key)
            else:
                self._next = min(self._next, buffer.put(record, record.key.end_ms))
                make_room()

        return process

    def _until_limit(
        self, context: ProcessorContext[Any, Any], buffer: BufferRows[Any, Any]
    ) -> Callable[[Record[Any, Any]], None]:
        make_room = self._room(context, buffer)

        def process(record: Record[Any, Any]) -> None:
            if record.key is None:
                context.drop("null-key")
                return
            self._next = min(self._next, buffer.put(record, record.timestamp))
            make_room()

        return process

    def _room(
        self, context: ProcessorContext[Any, Any], buffer: BufferRows[Any, Any]
    ) -> Callable[[], None]:
        """Return what keeps the buffer within its bounds, after a record was put."""
        until, forward = self._until, context.forward
        records, size = until.max_records, until.max_bytes

        def make_room() -> None:
            while (records is not None and buffer.count() > records) or (
                size is not None and buffer.size_bytes() > size
            ):
                if until.full == "fail":
                    raise _full(records, size, closes=isinstance(until, UntilWindowCloses))
                first = buffer.take_first()
                if first is None:
                    return
                forward(first)

        return (lambda: None) if records is None and size is None else make_room


def _full(records: int | None, size: int | None, *, closes: bool) -> LimitError:
    bounds = [
        f"{bound:,} {what}" for bound, what in ((records, "records"), (size, "bytes")) if bound
    ]
    early = "" if closes else ", or let it release early: full='emit-early'"
    return LimitError(
        f"suppress holds back {' or '.join(bounds) or 'nothing'} already, which is its limit",
        hint=f"raise max_records or max_bytes{early}",
    )
