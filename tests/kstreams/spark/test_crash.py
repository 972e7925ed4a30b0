"""The points of the crash matrix on Spark: workers exit, and the driver raises an exception."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kstreams import App, Embedded, View
from kstreams.app import SystemClock
from kstreams.batch import query_driver
from kstreams.batch.io.embedded import feed as embedded_feed
from kstreams.batch.io.embedded.topic_io import publish
from kstreams.batch.planning.batch_size import RecordSizes
from kstreams.batch.planning.planner import BatchPlanner
from kstreams.batch.sweep_thread import SweepThread
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.savepoint.fork import ForkSource, fork
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import KStreamsError
from kstreams.state.log.directory import Directory
from kstreams.state.log.upkeep import Upkeep
from kstreams_rocksdb import RocksDB
from tests.support.crash.failpoints import POINTS, Point
from tests.support.crash.faults import Faults, FaultyBackend, FaultyLog, FaultyProcess, Killed
from tests.support.crash.marking_app import (
    KEYS,
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

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

_MOST_BATCHES = 6
_SMALL = 1 << 20
_WITHIN = timedelta(seconds=120)
_ON_SPARK = {"version named": "version named soon"}
"""Events visible only in the worker's process; the others are those of the matrix."""

_PLAYED = {"task told"}
"""Events within Spark; the previous event is close to them."""


Settings = tuple[Upkeep, int]
"""The settings in which the apps of points differ: their upkeep, and the byte limit of a batch."""


class Running:
    """An app that continues from point to point, and is restarted when its driver crashes."""

    def __init__(self, home: Path, spark: SparkSession, upkeep: Upkeep, max_bytes: int) -> None:
        self.home = home
        self.spark = spark
        self.upkeep = upkeep
        self.max_bytes = max_bytes
        self.faults = Faults(home / "faults")
        self.log = Directory(str(home / "log"))
        self.connection = Embedded(home / "topics", default_partitions=PARTITIONS, durable=False)
        self.input: list[tuple[str, str]] = []
        emit(self.connection, (), 0)
        self.begin()

    def begin(self) -> None:
        """Start the app, on its previous state if there is any."""
        backend = RocksDB(directory=str(self.home / "local"))
        self.app = App(
            marking(),
            self.connection,
            state=FaultyBackend(backend, self.faults, FaultyLog(self.log, self.faults)),
            checkpoint=self.home / "checkpoint",
            spark=self.spark,
            trigger=timedelta(0),
            interceptors=[FaultyProcess(self.faults)],
            parallelism=PARTITIONS,
            max_bytes_per_batch=self.max_bytes,
            on_batch=lambda _: self.faults.reach("reported"),
            retained_batches=2,
            upkeep=self.upkeep,
        )
        self.app.open()

    def batch(self) -> None:
        """Emit a batch and run to the end, with a new driver if one crashes meanwhile."""
        records = batch_of(len(self.input))
        emit(self.connection, records, len(self.input))
        self.input += records
        try:
            self.app.drain(timeout=_WITHIN)
        except KStreamsError:
            if not self.faults.struck:
                raise
            self.begin()
            self.app.drain(timeout=_WITHIN)

    def check(self) -> None:
        """Compare topic and store with the result of a run without faults."""
        reader, ends = self.connection.reader(), self.connection.admin().end_offsets(OUT.name)
        records = [r for p, end in sorted(ends.items()) for r in reader.read(OUT.name, p, 0, end)]
        numbers, state = told(records)
        assert numbers == expected(self.input)
        assert self.state(self.home / "checkpoint", self.log) == state
        assert list((self.home / "topics").glob("*/.staged/*/*")) == []

    def state(self, checkpoint: Path, log: Directory) -> State:
        with View(checkpoint, MARKS, log=log) as view:
            return {key: found for key in KEYS if (found := view.get(key))}

    def save_or_fork(self, point: Point) -> None:
        """Create a savepoint or a fork while the app is open, and crash meanwhile."""
        name = point.name
        path, faulty = self.home / "checkpoint", FaultyLog(self.log, self.faults)
        state = self.state(path, self.log)
        source, target = ForkSource(path, name, log=self.log), self.home / name
        target_log = Directory(str(self.home / f"{name}-log"))
        own = faulty if point.does == "savepoint" else self.log
        savepoints = Savepoints(Checkpoint.load(home_of(path)), own.open())
        with suppress(Killed):
            savepoints.create(name, SystemClock())
            fork(source, target, name, log=FaultyLog(target_log, self.faults))
        assert savepoints.names() == [name]
        assert not (target / "app.json").exists()
        fork(source, target, name, log=target_log)
        assert self.state(target, target_log) == state
        savepoints.delete(name)


def is_reached(point: Point) -> bool:
    """Return whether an app on Spark reaches a point.

    In a directory no plan is written ahead, and the small deltas of the app are in packs.
    """
    return not (point.event in _PLAYED or point.ahead or point.own_objects)


@pytest.fixture(scope="module")
def apps(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Settings, Running]]:
    """Return the apps of all points, one for each upkeep and byte limit."""
    made: dict[Settings, Running] = {}
    for settings in sorted({(point.upkeep, point.max_bytes) for point in POINTS}, key=repr):
        made[settings] = Running(tmp_path_factory.mktemp("crash"), spark, *settings)
    yield made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_driver, "_SWEEP_EVERY", 1)
        for running in made.values():
            running.app.close()
            running.begin()  # a planner that knows the sizes of records, unlike those of the tests
            running.batch()
            running.check()
            running.app.close()


@pytest.fixture(autouse=True)
def driver_faults(apps: dict[Settings, Running], monkeypatch: pytest.MonkeyPatch) -> None:
    """Clean up after each batch, and make publications and smaller plans events.

    The thread of the query cleans up, so that a crash amid a clean-up fails the batch before it.
    """

    def reach(event: str) -> None:
        for running in apps.values():
            running.faults.reach(event)

    def published(log: object, outputs: object, batch: int) -> None:
        for output in outputs:  # type: ignore[attr-defined]  # a sequence
            publish(log, [output], batch)  # type: ignore[arg-type]  # the app's
            reach("published one")

    def replaced(plans: PlanLog, number: int, plan: Plan) -> Plan:
        reach("before replace plan")
        recorded = replace_plan(plans, number, plan)
        reach("after replace plan")
        return recorded

    def unknown_sizes(planner: BatchPlanner, **options: Any) -> Plan | None:
        if (
            planner.portions._max_bytes < _SMALL
        ):  # otherwise the known sizes lead to a small plan, and no task refuses it
            planner.portions.sizes = RecordSizes(lambda *_: 1.0)
        return next_plan(planner, **options)

    replace_plan, next_plan = PlanLog.replace, BatchPlanner.next
    monkeypatch.setattr(PlanLog, "replace", replaced)
    monkeypatch.setattr(BatchPlanner, "next", unknown_sizes)
    monkeypatch.setattr(embedded_feed, "publish", published)
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)
    monkeypatch.setattr(SweepThread, "begin", lambda _, sweep: sweep())


def remove(folder: Path) -> None:
    """Remove a folder in which a worker still adds and removes files."""
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise


@pytest.mark.parametrize("point", [p for p in POINTS if is_reached(p)], ids=lambda p: p.name)
def test_app_crashed_at_any_point_has_results_of_run_without_faults(
    point: Point, apps: dict[Settings, Running]
) -> None:
    running = apps[point.upkeep, point.max_bytes]
    if not running.input:
        running.batch()
    if point.cold:
        remove(running.home / "local")
    running.faults.arm(_ON_SPARK.get(point.event, point.event), point.nth, point.after)
    if point.does != "batch":
        running.save_or_fork(point)
    for _ in range(_MOST_BATCHES):
        if running.faults.struck:
            break
        running.batch()
    assert running.faults.struck
    running.check()
