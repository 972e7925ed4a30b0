"""The context of a processor, which gives access to its task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import Enum
from typing import Protocol, TypeVar, overload

import pyarrow as pa

from kstreams.ids import TaskId
from kstreams.record import Record, RecordMetadata
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.table_access import TableReader, VersionedReader
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedKeyValueStore

__all__ = ("BatchContext", "Cancellable", "Origin", "ProcessorContext", "PunctuationType")

KOut_contra = TypeVar("KOut_contra", contravariant=True)
"""Type of the keys that a processor forwards."""
VOut_contra = TypeVar("VOut_contra", contravariant=True)
"""Type of the values that a processor forwards."""
K = TypeVar("K")
"""Type of a table's keys."""
V = TypeVar("V")
"""Type of a table's values."""
T = TypeVar("T")
"""The type of a buffered item."""


class PunctuationType(Enum):
    """The clock that a punctuator follows."""

    STREAM_TIME = "stream-time"
    """The task's highest record timestamp, which only records and `idle_timeout` advance. Due times
    are multiples of the interval.
    """

    WALL_CLOCK_TIME = "wall-clock-time"
    """The recorded wall time of micro-batches; first due one interval after the start."""


class Cancellable(Protocol):
    """A scheduled punctuator."""

    def cancel(self) -> None:
        """Cancel the punctuator permanently: it does not fire after a restart either."""
        ...


class Origin(Protocol):
    """The input record that caused a buffered item, to which a later failure is attributed."""

    def fail(self, error: BaseException) -> None:
        """Apply the `on_error` of the record's source, as if the record failed now.

        Earlier effects of the record remain. Raises `error` if the policy is `fail` or there is no
        record.
        """
        ...


class _Common(Protocol):
    """The common part of the contexts of record and batch processors."""

    @property
    def node(self) -> str:
        """The name of the processor's node."""
        ...

    @property
    def task(self) -> TaskId:
        """The task that runs the processor."""
        ...

    @property
    def stream_time(self) -> int:
        """The highest timestamp that the task has read, ms since the epoch; -1 if none."""
        ...

    @property
    def idle_time(self) -> int:
        """The stream time to which idleness last advanced the task, ms; -1 if it never did.

        While the idle time equals the stream time, no record has advanced stream time since then;
        see `idle_timeout`.
        """
        ...

    @property
    def wall_time(self) -> int:
        """The recorded wall time of the micro-batch, in ms since the epoch.

        The time is equal in every attempt and replay of the batch: use it instead of a clock. It
        comes from the machine's clock, so it may be earlier than in the previous batch.
        """
        ...

    def store(self, spec: StoreSpec[S]) -> S:
        """Return a store of this node.

        Raises:
            TopologyError: The node was added without this store in `stores=[...]`.
        """
        ...

    @overload
    def reader(self, table: StoreSpec[TimestampedStore[K, V]]) -> TableReader[K, V]: ...
    @overload
    def reader(self, table: StoreSpec[VersionedKeyValueStore[K, V]]) -> VersionedReader[K, V]: ...
    def reader(
        self,
        table: StoreSpec[TimestampedStore[K, V]] | StoreSpec[VersionedKeyValueStore[K, V]],
    ) -> TableReader[K, V]:
        """Return a read-only view of a table that this node reads.

        The view includes writes of this batch for earlier records.

        Args:
            table: The definition of the table's store.

        Raises:
            TopologyError: The node was added without the table in `reads=[...]`.
        """
        ...

    def schedule(
        self,
        interval: timedelta,
        type: PunctuationType,  # noqa: A002  # Kafka Streams' own name for it
        callback: Callable[[int], None],
        *,
        name: str | None = None,
    ) -> Cancellable:
        """Schedule `callback(now_ms)` at each interval; can be called only in `init`.

        If time advances by several intervals at once, the callback is called once, and due times
        stay aligned. Due times are task state, which survives batches and restarts; they are
        identified by node and `name` (or the order of the calls if `name` is None). By the wall
        clock, the next due time is at most one interval ahead, also after the clock is set back.

        Raises:
            TopologyError: Called outside `init`, or the interval is under 1 ms.
        """
        ...

    def hold(
        self,
        release: Callable[[Sequence[T]], None],
        undo: Callable[[Sequence[T]], None] | None = None,
    ) -> Callable[[T], None]:
        """Return a function that buffers items to the end of the micro-batch; call only in `init`.

        The items of a record that fails and is skipped are discarded.

        Args:
            release: Called with all items, in order, after all records and punctuators of the
                batch; parents before children. It is not called without items.
            undo: Called with the discarded items, in order, after the record's changes to stores
                are undone; undoes the changes to state that the processor keeps in memory.

        Raises:
            TopologyError: Called outside `init`.
        """
        ...

    def on_end_of_run(self, callback: Callable[[], None]) -> None:
        """Register a callback for the end of a run that closes windows; call only in `init`.

        The callback runs once for each task, after all records, parents before their children: in
        `App.run(until="end", close_windows=True)`, `App.drain(close_windows=True)`, bounded
        DataFrames and `TopologyTestDriver.close_windows()`. A run without `close_windows`, and
        `App.close`, do not call it. The app may continue later.

        Raises:
            TopologyError: Called outside `init`.
        """
        ...

    @property
    def close_time(self) -> int:
        """The highest time passed to `advance_close_time` by this node, ms; -1 if none."""
        ...

    def advance_close_time(self, time_ms: int) -> None:
        """Record that this node has closed all windows that stream time `time_ms` would close.

        The time is task state, which survives batches and restarts. It never decreases: an earlier
        time is ignored.
        """
        ...

    def drop(self, reason: str, count: int = 1) -> None:
        """Count the current record, or `count` records of a table, as dropped for a reason."""
        ...


class ProcessorContext(_Common, Protocol[KOut_contra, VOut_contra]):
    """The context of a record processor; valid from `init` to `close`."""

    def forward(self, record: Record[KOut_contra, VOut_contra], /) -> None:
        """Forward a record to every child, in the order in which children were added."""
        ...

    def forward_to(self, child: str, record: Record[KOut_contra, VOut_contra]) -> None:
        """Forward a record to the child of this name.

        Raises:
            UnknownNodeError: There is no child of this name.
        """
        ...

    def origin(self) -> Origin:
        """Return the origin of the current record, to be stored with a buffered item."""
        ...

    @property
    def metadata(self) -> RecordMetadata | None:
        """The origin of the current record; None in `init` and in punctuators."""
        ...


class BatchContext(_Common, Protocol):
    """The context of a batch processor; valid from `init` to `close`."""

    def forward(self, table: pa.Table, /) -> None:
        """Forward a table to every child, in the order of their addition.

        Columns: `key` and `value` (batch processors receive them unchanged, sinks require the
        `arrow_type` of their serde, record processors receive Python objects), `timestamp` (int64,
        ms since the epoch, not null) and optionally `headers` (null means none); other columns are
        ignored.
        """
        ...

    def forward_to(self, child: str, table: pa.Table) -> None:
        """Forward a table to the child of this name; raises `UnknownNodeError` if there is none."""
        ...
