"""A topology in one process: one task per group, edges in memory, state on RocksDB.

A batch runs as on Spark: the groups one after the other check out their version, process the
records of their sources and of earlier groups, and commit. Records that enter a loop are written to
the durable log and read from the log in the next batch. A global table is read as of its last
commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.engine.one_task import Bench
from kstreams import TEXT, Topology
from kstreams.global_tables.open_tables import OpenTables
from kstreams.global_tables.table_version import TablePlace, TableVersion
from kstreams.graph.nodes import LoopNode, RepartitionNode
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.log.directory import Directory, DirectoryObjectStore
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import LoopPart, read_loops, write_loops
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import TableAccess
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.output.routing import route
from kstreams.task.records.queues import Queue
from kstreams_rocksdb import RocksDB

__all__ = ("Batch", "Feeds", "Numbers", "Pipeline")

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

Batch = Sequence[Queue]
"""The input of a batch: one queue per source."""


class Feeds:
    """Makes the queues of sources; offsets continue from batch to batch."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def numbered(self, source: str, keys: Numbers, values: pa.Array, times: Numbers) -> Queue:
        """Return records of a source; a key has ten bytes and contains a number."""
        names = TEXT.serialize_many([f"key-{number:06d}" for number in keys.tolist()])
        return self.queue(source, names, values, times)

    def queue(self, source: str, keys: pa.Array, values: pa.Array, times: Numbers) -> Queue:
        """Return records of a source.

        Args:
            source: The name of the source node and of its topic.
            keys: Serialized keys.
            values: Serialized values.
            times: Timestamps, ms.
        """
        first = self._next.get(source, 0)
        self._next[source] = first + len(keys)
        columns = [
            pa.array(np.arange(first, first + len(keys))),
            pa.array(times),
            keys,
            values,
            pa.nulls(len(keys), INPUT_SCHEMA.field("headers").type),
        ]
        return Queue(source, source, 0, pa.Table.from_arrays(columns, schema=INPUT_SCHEMA))


class Pipeline:
    """A topology that processes given batches.

    Args:
        topology: The topology to run; its groups are in the order of their data flow.
        home: An empty folder for state and its log.

    Attributes:
        rows: The number of results that went to sinks.
        looped: The number of records that entered loops.
    """

    def __init__(self, topology: Topology, home: Path) -> None:
        self.rows = self.looped = 0
        self._home = home
        self._globals = {topology.group_of_store(t.store.name).name: t for t in topology.globals}
        groups = sorted(topology.groups, key=lambda group: group.name not in self._globals)
        self._benches = [Bench(group, RocksDB(), home) for group in groups]
        self._tables: dict[str, TableAccess] = {}
        self._opened = OpenTables(lambda settings: settings.open())
        nodes = topology.nodes.values()
        self._edges = {
            node.name: node for node in nodes if isinstance(node, (RepartitionNode, LoopNode))
        }
        self._log = DirectoryObjectStore(home / "loops")
        self._in_loops: tuple[LoopPart, ...] = ()

    def run(self, batch: Batch) -> None:
        """Run and commit one batch, and the batches that its loops cause."""
        self._run(batch)
        while self._in_loops:
            self._run(())

    def _run(self, batch: Batch) -> None:
        parts, self._in_loops = self._in_loops, ()
        waiting = [*batch]
        for part, table in zip(parts, read_loops(self._log, parts), strict=True):
            waiting.append(Queue(part.loop, part.loop, 0, table))
        for bench in self._benches:
            group = bench.group
            own = {each.name for each in group.sources} | {each.name for each in group.from_tasks}
            queues = [queue for queue in waiting if queue.entry in own]
            if group.name in self._globals and not queues:
                continue  # a separate query without work
            bench.tables = self._tables
            output = bench.run(*queues)
            if group.name in self._globals:
                self._open(self._globals[group.name].store, bench)
            self.rows += sum(table.num_rows for table in output.sinks.values())
            waiting.extend(queue for queue in self._routed(output.edges))
            sent = [(queue.entry, 0, queue.table) for queue in self._routed(output.loops)]
            if sent:
                attempt = Attempt(new_attempt(), 0)
                self._in_loops += write_loops(self._log, "loops/", attempt, 0, sent)
                self.looped += sum(table.num_rows for _, _, table in sent)

    def _open(self, store: StoreSpec[Any], bench: Bench) -> None:
        log, name = Directory(str(self._home / "log")), bench.group.name
        place = TablePlace(store.name, "bench", log, "bench", name, 1, None)
        self._tables[store.name] = self._opened.open(
            store,
            TableVersion(place, (bench.pointer.to_json(),), 0),
            backend=RocksDB(),
            home=lambda: self._home / "copies",
            reader="bench",
        )

    def _routed(self, tables: Mapping[str, pa.Table]) -> Iterator[Queue]:
        for name, table in tables.items():
            for _, queue in route(self._edges[name], table, upstream=0, partitions=1):
                yield queue

    def state_bytes(self) -> int:
        """Return the bytes of all stored keys and values."""
        return sum(len(key) + len(value) for bench in self._benches for key, value in _rows(bench))


def _rows(bench: Bench) -> Iterator[tuple[bytes, bytes]]:
    stores = [spec.name for spec in bench.group.stores]
    log = DirectoryObjectStore(bench.home / "log")
    key = TaskKey("bench", bench.group.name, 0)
    versions = TaskVersions(RocksDB(), bench.home / "local", log, key, stores)
    checkout = versions.checkout(bench.pointer, Attempt(new_attempt(), 0))
    for store in stores:
        yield from checkout.store.scan(store, None, None)
    checkout.abort()
