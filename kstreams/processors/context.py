"""What a processor sees of the engine."""

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
"""Type of what is held back."""


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
    """Where a record came from, for who finds its failure later; see `origin`."""

    def fail(self, error: BaseException) -> None:
        """Let the record's source decide, by its `on_error`, as if the record failed now.

        What was done with the record stays. Raises the error where the source says so, and
        for what comes of no record.
        """
        ...


class _Common(Protocol):
    """What record and batch processors share."""

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
        """The micro-batch's recorded wall time, ms since the epoch.

        Equal on every attempt and replay of the batch: use it in place of a clock. It is
        what the machine's clock showed, so it may be less than in the batch before.
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
        """Return what reads a table that this node was registered with, and never writes.

        It sees what this batch has put before the present record.

        Args:
            table: The definition of the table's store.

        Raises:
            TopologyError: The node was added without it in `reads=[...]`.
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

        It is called once for each task, after all records, parents before their children: by
        `App.run(until="end", close_windows=True)`, `App.drain(close_windows=True)`, bounded
        DataFrames and `TopologyTestDriver.close_windows()`. A run that ends without
        `close_windows`, and `App.close`, do not call it. The app may go on later.

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
        """Return the present record's origin, to be kept with what `hold` takes."""
        ...

    @property
    def metadata(self) -> RecordMetadata | None:
        """Where the present record came from; None in `init` and in punctuators."""
        ...


class BatchContext(_Common, Protocol):
    """A batch processor's side of the engine; valid from `init` to `close`."""

    def forward(self, table: pa.Table, /) -> None:
        """Hand a table to every child, in the order they were added.

        Columns `key`, `value` (of the types of what the child reads: a batch processor
        gets them as they are, a sink's serde takes its `arrow_type`, a record processor
        gets Python objects), `timestamp` (int64, ms since the epoch, not null) and
        optionally `headers` (null = none); others are ignored.
        """
        ...

    def forward_to(self, child: str, table: pa.Table) -> None:
        """Hand a table to one child by its name; `UnknownNodeError` when there is none."""
        ...
