"""A query on DataFrames that crashes once, at a chosen moment; its machine may lose its disk."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, aggregate
from kstreams.aggregators import count
from kstreams.emit import each_update
from kstreams.frames import Operator, transform_frames
from kstreams.operators import rekey
from kstreams.spark.frames import transform
from kstreams.spark.frames.cleaning import Cleaning
from kstreams.spark.frames.task_record import TaskRecord
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.working import CopiesVersions, SharesVersions
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.local import LocalVersions
from kstreams.stores import timestamped_store
from tests.kstreams.spark.frames.generated_case import store_rows
from tests.support.crash import marking_app as workload
from tests.support.crash.failpoints import Point
from tests.support.crash.faults import (
    Faults,
    FaultyBackend,
    FaultyLog,
    FaultyProcess,
    FaultySharingBackend,
)
from tests.support.crash.machine_disk import Machine
from tests.support.crash.marking_app import COUNTS, IN, LAST, MARKS, OUT, Mark, batch_of, expected
from tests.support.fake_spark.frames import PlayedSession, rows_table
from tests.support.fake_spark.query import PlayedQuery, new_process

__all__ = ("Dying", "NamedLog", "Recovery")

Recovery = Literal["retry", "restart", "empty machine"]
"""The recovery after a crash.

The same process retries the batch, another process continues on the same disk, or another process
has only the durable log and Spark's checkpoint.
"""

TOTAL = Topic("totals", TEXT, INT64)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
_MOST_STEPS = 6


class KnownFaults(Faults):
    """Faults whose pickled copies become the original object again when this process loads them."""

    known: ClassVar[dict[Path, KnownFaults]] = {}

    def __init__(self, folder: Path, die: Callable[[], None]) -> None:
        super().__init__(folder, die)
        self.known[folder] = self

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self._folder,)


def _known(folder: Path) -> Faults:
    return KnownFaults.known[folder]


@dataclass(frozen=True)
class NamedLog:
    """Settings of a log registered by name in this process; real clients cannot be pickled."""

    name: str
    known: ClassVar[dict[str, ObjectStoreSettings]] = {}

    def open(self) -> ObjectStore:
        return self.known[self.name].open()


def topology() -> Topology:
    """Return a topology of two groups: words -> marks, and over a repartition to totals."""
    builder = TopologyBuilder("dying")
    words = builder.add_source("words", IN)
    marks = builder.add_processor("mark", Mark, words, stores=[LAST, COUNTS, MARKS])
    builder.add_sink("marks", OUT, marks)
    first = builder.add_processor("by-digit", rekey(_last_digit), words)
    edge = builder.repartition("digits", first, key=TEXT, value=TEXT)
    counting = aggregate(count(), store=TOTALS, emit=each_update())
    builder.add_sink("totals", TOTAL, builder.add_processor("count", counting, edge))
    return builder.build()


def _last_digit(key: str, _: str) -> str:
    return key[-1]


class Dying:
    """A query with one crash to survive.

    Args:
        home: Directory of the local disk and the faults.
        backend: The real backend; its directory is on the machine.
        log: The real durable log.
        point: The point of the crash.
        recovery: The kind of recovery.
        operator: The stateful operator that runs the groups.
        patch: Injects faults into parts of the query that cannot be replaced.
    """

    def __init__(
        self,
        home: Path,
        backend: Callable[[str], CopiesVersions],
        log: ObjectStoreSettings,
        point: Point,
        recovery: Recovery,
        operator: Operator,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.machine = Machine(home)
        self.point, self.recovery, self.operator, self.log = point, recovery, operator, log
        self.faults = KnownFaults(home / "faults", self._die)
        faulty_log = FaultyLog(log, self.faults)
        inner = backend(str(self.machine.local))
        kind = FaultySharingBackend if isinstance(inner, SharesVersions) else FaultyBackend
        self.backend = kind(inner, self.faults, faulty_log)
        self.query = PlayedQuery()
        self.input: list[tuple[str, str]] = []
        self._recovered = False
        _patch(patch, self.faults)
        self.start()

    # ------------------------------------------------------------ actions of a test

    def batch(self) -> None:
        """Retry a batch until it is done."""
        number = self.query.batches
        records = batch_of(number)
        self.input += records
        rows = {IN.name: _rows(records, number)}
        for _ in range(_MOST_STEPS):
            try:
                self.query.batch(rows, 1_000 * number, self.faults.reach)
            except Exception:
                if self._recovered or not self.faults.struck:
                    raise
                self.recover()
            if self.query.batches > number:
                return
        raise AssertionError("the batch never ends")

    def arm(self) -> None:
        """Crash at the point in the batches that follow."""
        self.faults.arm(self.point.event, self.point.nth, self.point.after)

    def recover(self) -> None:
        """Recover from the crash."""
        self._recovered = True
        if self.recovery == "retry":
            return
        if not self.faults.dead:
            self._die()
        self.start()

    def lose_local_state(self) -> None:
        """Lose the disk and the memory of the machine between two batches."""
        new_process()
        shutil.rmtree(self.machine.local, ignore_errors=True)
        self.start()

    def start(self) -> None:
        """Simulate another process that starts the query on its checkpoint."""
        dead, self.faults.dead = self.faults.dead, False
        new_process()
        if dead:
            self.machine.thaw()
        session = PlayedSession(splits=2)
        results = transform_frames(
            topology(),
            {IN: session.stream(IN.name)},
            state=self.backend,
            tasks=2,
            operator=self.operator,
            interceptors=[FaultyProcess(self.faults)],
            packages=(),
            upkeep=self.point.upkeep,
        )
        self.query.start(results.with_dropped)

    # ------------------------------------------------------------ checks

    def check(self) -> None:
        """Compare rows and stores with those of a run without a crash; find leftover objects."""
        marks: dict[str, list[str]] = {}
        totals: Counter[str] = Counter()
        for number in range(self.query.batches):
            for row in self.query.written[number].to_pylist():
                key = row["key"].decode()
                if row["topic"] == OUT.name:
                    marks.setdefault(key, []).append(row["value"].decode().partition(":")[0])
                else:
                    totals[key] += 1
                    assert INT64.deserialize(row["value"]) == totals[key]
        assert marks == expected(self.input)
        assert totals == Counter(key[-1] for key, _ in self.input)
        counts = {key: own[-1] for key, own in marks.items() if own[-1] != workload.DROP}
        assert {key: str(n) for key, n in self._store(COUNTS).items()} == counts
        assert {key: str(len(own)) for key, own in self._store(MARKS).items()} == counts
        assert {key: own.partition(":")[0] for key, own in self._store(LAST).items()} == counts
        assert {key: value for key, (value, _) in self._store(TOTALS).items()} == totals
        self._check_log()

    def _store(self, spec: Any) -> dict[Any, Any]:
        return store_rows(topology(), spec, self.query, self.log)

    def _check_log(self) -> None:
        """Check that objects of the latest versions exist, and recent unreferenced ones do not."""
        named, newest = set(), 0
        state_names = set()
        for record in self._records():
            state_names.add(record.state_name)
            pointer = Pointer.from_json(record.pointer or "")
            named |= {ref.name for ref in pointer.objects()}
            newest = max(newest, pointer.version)
        (state_name,) = state_names
        found = {
            name
            for name in self.log.open().list(f"{state_name}/")
            if name.rpartition(".")[2] in ("delta", "run", "chunk")
        }
        assert named <= found
        old = {name for name in found - named if _version(name) < newest - _KEPT}
        assert old == set()

    def _records(self) -> Iterator[TaskRecord]:
        for place in range(len(topology().groups)):
            yield from map(TaskRecord.from_json, self.query.records(place).values())

    def _die(self) -> None:
        """Ignore all later calls, and keep the disk as it is at this moment."""
        if self.recovery != "retry":
            self.faults.dead = True
            self.machine.freeze(keeps=self.recovery == "restart")


_RETAINED = 2
_KEPT = _RETAINED + 3
"""Versions whose objects may stay: notes are a batch apart, and two of them must be old."""


def _patch(patch: pytest.MonkeyPatch, faults: Faults) -> None:
    real_publish = LocalVersions.publish

    def named(versions: LocalVersions, *arguments: Any) -> None:
        real_publish(versions, *arguments)
        faults.reach("version named")

    patch.setattr(LocalVersions, "publish", named)
    often = Cleaning(retained_batches=_RETAINED, min_age=timedelta(0), every=1)
    patch.setattr(transform, "_cleaning", lambda *_, **__: often)

    class Steady:
        """A mark is the count alone, so that a retried batch gives the same rows."""

        hex = "0" * 8

    patch.setattr(workload, "uuid4", Steady)


def _rows(records: list[tuple[str, str]], number: int) -> pa.Table:
    return rows_table(
        {
            "timestamp": 1_000 * number,
            "key": key.encode(),
            "value": value.encode(),
            "partition": 0,
            "offset": 1_000 * number + place,
        }
        for place, (key, value) in enumerate(records)
    )


def _version(name: str) -> int:
    return int(name.rpartition("/")[2].partition("-")[0])
