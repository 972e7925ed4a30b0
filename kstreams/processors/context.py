"""The context of a processor: its access to the task."""

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
    """The task's highest record timestamp. Due times lie on the grid of the interval,
    counted from 0; moves only with records."""

    WALL_CLOCK_TIME = "wall-clock-time"
    """The micro-batch's recorded wall time; first due one interval after the start."""


class Cancellable(Protocol):
    """A scheduled punctuator."""

    def cancel(self) -> None:
        """Never fire again, also after a restart."""
        ...


class Origin(Protocol):
    """The input record of a buffered item, for a late failure; see `origin`."""

    def fail(self, error: BaseException) -> None:
        """Apply the `on_error` of the record's source, as if the record failed now.

        Earlier effects of the record stay. Raises the error if the policy is `fail`, or if there is
        no record.
        """
        ...


class _Common(Protocol):
    """The common part of record and batch contexts."""

    @property
    def node(self) -> str:
        """The name of this node."""
        ...

    @property
    def task(self) -> TaskId:
        """The task that this processor works in."""
        ...

    @property
    def stream_time(self) -> int:
        """The highest timestamp the task has seen, ms since the epoch; -1 before any."""
        ...

    @property
    def idle_time(self) -> int:
        """The stream time that idleness has moved the task to last, ms; -1 before.

        As long as it is the stream time, no record has moved that: see `idle_timeout`.
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
        """Return a store that this node was registered with.

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
        """Return a read-only view of a table that this node was added with.

        The view includes the writes of this batch before the current record.

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
        """Call `callback(now_ms)` at each interval. Only in `init`.

        After a jump over several intervals it is called once, and stays on its grid.
        Due times are task state: they survive batches and restarts, found again by the
        node and `name` (by order of the calls when None). By the wall clock it is never due
        further ahead than an interval: a clock that is set back takes it along.

        Raises:
            TopologyError: Called outside `init`, or the interval is under 1 ms.
        """
        ...

    def hold(
        self,
        release: Callable[[Sequence[T]], None],
        undo: Callable[[Sequence[T]], None] | None = None,
    ) -> Callable[[T], None]:
        """Return a function that holds an item until the end of the micro-batch. Only in `init`.

        The items of a record that fails and is skipped are discarded.

        Args:
            release: Called with all items, in order, after all records and punctuators of the
                batch; parents before children. It is not called without items.
            undo: Called with the items that are discarded, in order, after the changes of the
                record to stores are undone: for state that a processor keeps in memory.

        Raises:
            TopologyError: Called outside `init`.
        """
        ...

    def on_end_of_run(self, callback: Callable[[], None]) -> None:
        """Call `callback` at the end of a run that closes windows. Only in `init`.

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
        """As of which stream time this node has closed windows early, ms; -1 for never."""
        ...

    def advance_close_time(self, time_ms: int) -> None:
        """Remember that this node has closed early what stream time `time_ms` would close.

        Task state: it survives batches and restarts. It never goes back: an earlier time
        changes nothing.
        """
        ...

    def drop(self, reason: str, count: int = 1) -> None:
        """Count the present record, or several of a table, as dropped: such as `late`."""
        ...


class ProcessorContext(_Common, Protocol[KOut_contra, VOut_contra]):
    """A record processor's side of the engine; valid from `init` to `close`."""

    def forward(self, record: Record[KOut_contra, VOut_contra], /) -> None:
        """Hand a record to every child, in the order they were added."""
        ...

    def forward_to(self, child: str, record: Record[KOut_contra, VOut_contra]) -> None:
        """Hand a record to one child by its name.

        Raises:
            UnknownNodeError: There is no child of this name.
        """
        ...

    def origin(self) -> Origin:
        """Return the origin of the current record, to keep with a held item."""
        ...

    @property
    def metadata(self) -> RecordMetadata | None:
        """The origin of the current record; None in `init` and in punctuators."""
        ...


class BatchContext(_Common, Protocol):
    """A batch processor's side of the engine; valid from `init` to `close`."""

    def forward(self, table: pa.Table, /) -> None:
        """Forward a table to every child, in the order of their addition.

        Columns: `key` and `value` (a batch processor gets them unchanged, a sink needs the
        `arrow_type` of its serde, a record processor gets Python objects), `timestamp` (int64, ms
        since the epoch, not null) and optionally `headers` (null means none); other columns are
        ignored.
        """
        ...

    def forward_to(self, child: str, table: pa.Table) -> None:
        """Hand a table to one child by its name; `UnknownNodeError` when there is none."""
        ...
