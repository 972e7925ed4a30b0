"""The state that a worker process keeps for its tasks from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property

from kstreams.batch.io.sink_writers import SinkWriters
from kstreams.global_tables.open_tables import OpenTables
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.open_versions import OpenVersions
from kstreams.task.node_sampler import NodeSampler

__all__ = ("WorkerState", "this_worker")

_ROW_CACHE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class WorkerState:
    """The shared state of a worker's tasks.

    Attributes:
        rows: Cached rows of their stores, as objects.
        background: Merges deltas and creates snapshots in the background.
        open_versions: The open versions of their state.
        writers: The writers of sinks other than topics.
    """

    rows: RowCache = field(default_factory=lambda: RowCache(_ROW_CACHE_BYTES))
    background: BackgroundUpkeep = field(default_factory=BackgroundUpkeep)
    open_versions: OpenVersions = field(default_factory=OpenVersions)
    writers: SinkWriters = field(default_factory=SinkWriters)
    _logs: dict[ObjectStoreSettings, ObjectStore] = field(default_factory=dict)
    _samplers: dict[int, NodeSampler] = field(default_factory=dict)

    @cached_property
    def tables(self) -> OpenTables:
        """The global tables that are open."""
        return OpenTables(self.log)

    def sampler(self, hz: int) -> NodeSampler | None:
        """Return the sampler of nodes at a frequency; None if `hz` is 0 (no sampling)."""
        if hz and hz not in self._samplers:
            self._samplers[hz] = NodeSampler(hz)
        return self._samplers.get(hz)

    def log(self, settings: ObjectStoreSettings) -> ObjectStore:
        """Return the durable log of these settings; the first call opens it."""
        if settings not in self._logs:
            self._logs[settings] = settings.open()
        return self._logs[settings]


@cache
def this_worker(*, keeps_tasks: bool = False) -> WorkerState:
    """Return the state of this worker process.

    Args:
        keeps_tasks: Whether this process runs the same tasks in each batch, so that their small
            states may stay in its memory. Spark's stateful operators run a task in any process of
            the executor, and another process would have to read the state from the durable log.
    """
    if keeps_tasks:
        return WorkerState()
    return WorkerState(open_versions=OpenVersions(resident_bytes=0))
