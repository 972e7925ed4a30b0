"""Forward the records of each key at a limited rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic

from kstreams._types import K, V
from kstreams.durations import milliseconds
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.processors.emission import AtMostEvery, Emission
from kstreams.processors.supplier import StoreSupplier
from kstreams.record import Record
from kstreams.serde.numbers import INT64
from kstreams.state.stores.buffer.kind import BUFFER
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import FAR_MS

__all__ = ("limit_rate",)


@dataclass(frozen=True)
class _LimitRateSupplier(Generic[K, V]):
    """Creates the processors of `limit_rate`, and declares their stores."""

    limit: AtMostEvery
    store: StoreSpec[BufferStore[K, V]]

    def __call__(self) -> ClosureProcessor[K, V, K, V]:
        """Return a new processor."""
        return _LimitRate(self)

    @property
    def free_times(self) -> StoreSpec[KeyValueStore[K, int]]:
        """The store of the time at which each key may be forwarded again, in ms."""
        name, interval = f"{self.store.name}-free", self.limit.interval
        spec = key_value_store(name, key=self.store.key, value=INT64, ttl=interval)
        changelog = self.store.changelog
        return spec if changelog is None else spec.with_changelog(f"{changelog}-free")

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the buffer and the store of free times."""
        return self.store, self.free_times

    @property
    def window_emission(self) -> Emission:
        """Return the rate limit as the emission of windowed results, because it delays them."""
        return self.limit


def limit_rate(
    limit: AtMostEvery, *, store: StoreSpec[BufferStore[K, V]]
) -> StoreSupplier[K, V, K, V]:
    """Forward at most one record of a key in each interval of stream time.

    A record is forwarded immediately if no record of its key has been forwarded within the
    interval. Otherwise it is buffered until the end of the interval, and replaces an earlier
    buffered record of the key; so the last record of a key is always forwarded. Records keep their
    timestamps and headers. With an `idle_timeout`, stream time also advances while there are no
    records; a run that closes windows forwards all buffered records at its end. Results do not
    depend on batches. Records without a key are dropped (`null-key`).

    Args:
        limit: `at_most_every(interval)`.
        store: Definition of the buffer, a `buffer_store`. A second store, `<store>-free`, keeps the
            time at which each key may be forwarded again, for one interval.

    Raises:
        TopologyError: The store is not a `buffer_store`.

    Example:
        >>> from kstreams import INT64, TEXT
        >>> from kstreams.durations import seconds
        >>> from kstreams.emit import at_most_every
        >>> from kstreams.stores import buffer_store
        >>> calmer = limit_rate(
        ...     at_most_every(seconds(10)), store=buffer_store("calm", key=TEXT, value=INT64)
        ... )

    Source: none in Kafka Streams, whose `Suppressed#untilTimeLimit` delays the first record too.
    """
    check_kind(store, BUFFER, "limit_rate needs")
    return _LimitRateSupplier(limit, store)


class _LimitRate(ClosureProcessor[K, V, K, V]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, supplier: _LimitRateSupplier[K, V]) -> None:
        self._supplier = supplier

    def bind(self, context: ProcessorContext[K, V]) -> Callable[[Record[K, V]], None]:
        """Return the function that processes a record."""
        supplier = self._supplier
        free_times = context.store(supplier.free_times)
        buffer: BufferRows[K, V] = BufferRows.of(context.store(supplier.store))
        pace = _Pace(supplier.limit.interval_ms, free_times, context)
        release = _Release(buffer, pace)
        context.schedule(
            milliseconds(1), PunctuationType.STREAM_TIME, release.due, name="limit-rate"
        )
        context.on_end_of_run(release.all)

        def process(record: Record[K, V]) -> None:
            key = record.key
            if key is None:
                context.drop("null-key")
                return
            free = free_times.get(key)
            if free is None or free <= context.stream_time:
                buffer.delete(key)
                pace.forward(record)
            else:
                release.after(buffer.put(record, free))

        return process


class _Pace:
    """Forwards records, and stores the time at which their keys may be forwarded again.

    Args:
        interval_ms: The interval of the limit.
        free_times: The time at which each key may be forwarded again, in ms.
        context: The context of the node.
    """

    def __init__(
        self,
        interval_ms: int,
        free_times: KeyValueStore[Any, int],
        context: ProcessorContext[Any, Any],
    ) -> None:
        self._interval = interval_ms
        self._free_times = free_times
        self._context = context

    def forward(self, record: Record[Any, Any]) -> None:
        """Forward a record, and store the next free time of its key."""
        self._free_times.put(record.key, self._context.stream_time + self._interval)
        self._context.forward(record)


class _Release:
    """Removes records from the buffer, and forwards them.

    Args:
        buffer: The buffer, ordered by the time at which a key may be forwarded again.
        pace: Forwards the removed records.
    """

    def __init__(self, buffer: BufferRows[Any, Any], pace: _Pace) -> None:
        self._buffer = buffer
        self._pace = pace
        self._next = -FAR_MS  # a lower bound of all times, which saves reads of the buffer

    def after(self, time_ms: int) -> None:
        """Note that a record was buffered until stream time `time_ms`, so that `due` reads it."""
        self._next = min(self._next, time_ms)

    def due(self, now: int) -> None:
        """Forward the records that are due at stream time `now`, ms; called by a punctuator."""
        if now < self._next:
            return
        for record in self._buffer.take_until(now):
            self._pace.forward(record)
        following = self._buffer.next_timer()
        self._next = FAR_MS if following is None else following

    def all(self) -> None:
        """Forward all records of the buffer."""
        for record in self._buffer.take_until(FAR_MS):
            self._pace.forward(record)
