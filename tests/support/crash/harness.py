"""The crash harness: an app whose tasks run in this process, with a real library."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from kstreams import Embedded, Topology
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.log_headers import begin_logs
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.opening import opened_query
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.lock import NoLock
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.execution.app_parts import AppParts
from kstreams.execution.query_loop import QueryLoop
from kstreams.execution.start import make_loop
from kstreams.global_tables.opening import open_global_tables
from kstreams.state.backend import memory
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import CopiesVersions
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.log.durable import DurableLog
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.open_versions import OpenVersions
from kstreams.testing import FakeClock
from tests.support.crash.failpoints import Point
from tests.support.crash.faults import (
    Faults,
    FaultyLog,
    FaultyProcess,
    end_open_versions,
    faulty_backend,
)
from tests.support.crash.leftover_checks import check_litter
from tests.support.crash.library_patches import patch_library
from tests.support.crash.lockless_start import taken_over
from tests.support.crash.machine_disk import Machine
from tests.support.crash.marking_app import (
    COUNTS,
    LAST,
    MARKS,
    OUT,
    PARTITIONS,
    State,
    batch_of,
    emit,
    expected,
    marking,
    told,
)
from tests.support.crash.task_executor import TaskEngine

__all__ = ("RECOVERIES", "Harness", "Recovery")

Recovery = Literal["retry", "restart", "empty machine"]
"""Recovery after a death:

the same process retries, another process finds the same disk, or another process finds only the
durable log.
"""

RECOVERIES: tuple[Recovery, ...] = ("retry", "restart", "empty machine")
_MOST_STEPS = 10


class Harness:
    """An app that dies at one point, on a machine that can be lost.

    Args:
        home: Directory of topics, checkpoint and the machine's disk.
        backend: The real backend; its directory is `home / "local"`.
        log: The real durable log.
        point: The point at which the app dies.
        recovery: The kind of recovery.
        patch: Patches the library where no part of an app can be exchanged.
        place: The object store of the checkpoint; a directory below `home` by default.

    Attributes:
        gaps: Number of offsets of a source that have no record.
        resident_bytes: The maximum memory of a task's state without a database.
    """

    gaps = 0
    resident_bytes = 0

    def __init__(
        self,
        home: Path,
        backend: CopiesVersions,
        log: ObjectStoreSettings,
        point: Point,
        recovery: Recovery,
        patch: pytest.MonkeyPatch,
        place: ObjectStoreSettings | None = None,
    ) -> None:
        self.home = home
        self.machine = Machine(home)
        self.point = point
        self.recovery = recovery
        self.log = log
        self.faults = Faults(home / "faults", self._die)
        self.faulty_log = FaultyLog(log, self.faults)
        self.place: CheckpointHome = home_of(
            home / "checkpoint" if place is None else FaultyLog(place, self.faults)
        )
        self.backend = faulty_backend(backend, self.faults, self.faulty_log)
        self.clock = FakeClock(1_000)
        self.connection = self.connect()
        self.input: list[tuple[str, str]] = []
        self.queries: dict[str, QueryLoop] = {}
        self._starts = 0
        self._recovered = False
        self._waiting = 0  # batches to be emitted while another runs
        self._patch = patch
        self._patch_once()
        self._new_process()
        self.append((), 0)

    # ------------------------------------------------------------ actions of tests

    def batch(self) -> None:
        """Emit a batch of records, and run until it is committed."""
        self.emit()
        if self.point.ahead:
            self.emit_in_batch()
        self.run_until_committed()

    def batches(self, count: int) -> None:
        """Run a number of batches, each until it is committed."""
        for _ in range(count):
            self.batch()

    def die_in_a_batch(self, most: int) -> None:
        """Run batches, at most `most`, until the fault has occurred in one."""
        self.arm()
        for _ in range(most):
            if not self.faults.struck:
                self.batch()
        assert self.faults.struck
        if self.point.dies == "nobody":
            self.end_process()

    def die_and_go_on(self, *, before: int, most: int = 3, after: int = 2) -> None:
        """Run some batches, die at the point, recover, run some more, and check the results.

        Args:
            before: Number of batches that are committed before.
            most: Most batches until the death.
            after: Number of batches after the recovery.
        """
        self.start_driver()
        self.batches(before)
        self.die_in_a_batch(most)
        self.batches(after)
        self.check()

    def emit_in_batch(self) -> None:
        """Emit a batch of records while the next batch runs."""
        self._waiting += 1

    def batch_runs(self) -> None:
        """Emit the batches that are due while a batch runs."""
        while self._waiting:
            self._waiting -= 1
            self.emit()

    def emit(self) -> None:
        """Emit a batch of records."""
        number = len(self.input)
        records = batch_of(number)
        self.input += records
        self.append(records, number)

    def run_until_committed(self, query: str | None = None) -> None:
        """Run a query's batches, or those of the only query, until all emitted records are
        committed.
        """
        name = query or self.query.name
        for _ in range(_MOST_STEPS):
            if not self.behind(name):
                return
            self.guarded(lambda: self.queries[name].run_batch())
        raise AssertionError("the batch never ends")

    def guarded(self, work: Callable[[], object]) -> None:
        """Call a function that may die, and recover."""
        try:
            work()
        except Exception:
            if not self.has_died():
                raise
            self.recover(driver=True)

    def has_died(self) -> bool:
        """Return whether an error is the fault's; at most one is."""
        if self._recovered or not self.faults.struck or self.point.dies == "nobody":
            return False
        self._recovered = True
        return True

    def arm(self) -> None:
        self.faults.arm(self.point.event, self.point.nth, self.point.after)

    def end_process(self) -> None:
        """Lose the process or the machine, unless the fault has ended it."""
        if self.recovery != "retry" and not self.faults.dead:
            self.worker.background.drain()
            self._die()
        self.recover(driver=True)

    def recover(self, *, driver: bool) -> None:
        """Recover from a death."""
        if self.recovery != "retry":
            self._new_process()
        if driver:
            self.start_driver()

    def lose_local_state(self) -> None:
        """Lose the disk and the memory of the machine, between batches."""
        shutil.rmtree(self.local, ignore_errors=True)
        self._new_process()

    def connect(self) -> Any:
        """Return the connection to the topics."""
        return Embedded(self.home / "topics", default_partitions=PARTITIONS, durable=False)

    def append(self, records: Sequence[tuple[str, str]], number: int) -> None:
        """Append a batch of records."""
        emit(self.connection, records, number)

    def build(self) -> Topology:
        """Return the topology under test."""
        return marking()

    def start_driver(self) -> None:
        """Create the app's queries, as an app does at its start."""
        topology = self.build()
        tasks = {group.name: PARTITIONS for group in topology.groups}
        settings = AppSettings(
            "crash",
            self.place,
            state=self.backend,
            trigger=timedelta(0),
            max_records_per_batch=10_000,
            max_bytes_per_batch=self.point.max_bytes,
            interceptors=(FaultyProcess(self.faults),),
            retained_batches=2,
            upkeep=self.point.upkeep,
        )
        parts = AppParts(
            topology=topology,
            connection=self.connection,
            lock=NoLock(),
            clock=self.clock,
            report=self._reported,
            engine=TaskEngine(self, PARTITIONS),
            run=f"run-{self._starts}",
        )
        self._starts += 1
        opened = Checkpoint.open(settings.checkpoint, settings.app_id, topology, tasks=tasks)
        self.checkpoint = begin_logs(opened, self.log.open(), {})
        groups = topology.pipelines()
        taken = taken_over(self.connection, self.checkpoint, self.faulty_log.open(), parts.run)
        queries = [
            opened_query(self.checkpoint, each, self.faulty_log, taken.get(query_name(each)))
            for each in groups
        ]
        tables = open_global_tables(settings, topology, queries)
        for query in queries:
            loop = make_loop(settings, parts, query, tasks, {}, tables=tables[query.name])
            self.queries[query.name] = loop
            loop.driver.publish_last()
            loop.resume()

    # ------------------------------------------------------------ checks

    def check(self) -> None:
        """Compare topics and stores with those of a run without faults, and check for leftover
        files.
        """
        numbers, state = told(self._published())
        assert numbers == expected(self.input)
        assert self.state() == state
        check_litter(self)

    def stores(
        self,
        *specs: StoreSpec[Any],
        path: Path | None = None,
        log: ObjectStoreSettings | None = None,
    ) -> Iterator[Overlay]:
        """Yield the stores of each task that has them, at a checkpoint's last commits."""
        checkpoint = Checkpoint.load(home_of(path) if path else self.place)
        objects, names = (log or self.log).open(), {spec.name for spec in specs}
        for query in checkpoint.queries:
            last = checkpoint.commits(query, objects).last()
            for task, pointer in last.pointers().items() if last is not None else ():
                if names <= {*pointer.stores}:
                    store = MemoryStore(sorted(pointer.stores))
                    DurableLog(objects, checkpoint.task_key(query, task)).restore(pointer, store)
                    yield Overlay(store)

    def state(self, path: Path | None = None, log: ObjectStoreSettings | None = None) -> State:
        """Return the marks of all keys, and check that the three stores of a checkpoint agree."""
        found: State = {}
        for overlay in self.stores(LAST, COUNTS, MARKS, path=path, log=log):
            counts, last_marks = COUNTS.open(overlay), LAST.open(overlay)
            marks = MARKS.open(overlay)
            own = dict(marks.range())
            assert dict(last_marks.range()) == {key: found[-1] for key, found in own.items()}
            assert dict(counts.range()) == {key: len(found) for key, found in own.items()}
            found.update(own)
        return found

    def _published(self) -> Iterable[Any]:
        reader = self.connection.reader()
        for partition, end in sorted(self.connection.admin().end_offsets(OUT.name).items()):
            yield from reader.read(OUT.name, partition, 0, end)

    # ------------------------------------------------------------ queries

    @property
    def local(self) -> Path:
        return self.machine.local

    @property
    def query(self) -> QueryLoop:
        """The only query."""
        (found,) = self.queries.values()
        return found

    def behind(self, query: str | None = None) -> bool:
        """Return whether a query has uncommitted work."""
        name = query or self.query.name
        driver = self.queries[name].driver
        planned = driver.planner.reached(driver.end())
        waits = driver.timers.call_all or driver.is_looping
        inherited = driver.planned(driver.next_batch) is not None
        return inherited or waits or not planned

    def _reported(self, *_: object) -> None:
        self.faults.reach("reported")

    def _die(self) -> None:
        """Be dead from here on, and keep the disk as it is now."""
        if self.recovery == "retry":
            return
        self.faults.dead = True
        self.machine.freeze(keeps=self.recovery == "restart")

    def _patch_once(self) -> None:
        patch_library(self, self._patch)

    def _new_process(self) -> None:
        """Start another process on the disk of the last one."""
        memory._CLOSED.clear()
        if self._starts:
            end_open_versions(self.worker)
        if self.faults.dead:
            self.worker.background.drain()  # its thread ends with the process, and may hold files
            self.machine.thaw()
            self.faults.dead = False
        self.worker: WorkerState = WorkerState(
            RowCache(1 << 20),
            BackgroundUpkeep(clock=self.clock),
            OpenVersions(resident_bytes=self.resident_bytes),
        )
