"""Crashes at every moment of a batch, for each backend and recovery, lose and repeat nothing."""

from __future__ import annotations

import os
import uuid
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from devtools.servers.s3 import Bucket
from kstreams.frames import Operator
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams.state.log.upkeep import Upkeep
from kstreams_rocksdb import RocksDB
from kstreams_s3.store import S3ObjectStore
from tests.crash.test_matrix import SharedS3
from tests.kstreams.spark.frames.crashing_query import Dying, NamedLog, Recovery
from tests.support.crash.failpoints import POINTS, Point

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

BEFORE, AFTER = 2, 3
_MOST_BATCHES = 6
_ALL = os.environ.get("KSTREAMS_FRAMES_CRASH") == "all"
_RECOVERIES: tuple[Recovery, ...] = ("retry", "restart", "empty machine")
_OPERATORS: tuple[Operator, ...] = ("transform-with-state", "group-state")

OURS = [
    point
    for point in POINTS
    if point.dies != "driver"
    and point.does == "batch"
    and point.event not in ("task told", "lost reply of put commit")
    and "pack" not in point.event
]
"""Moments in the library's state, as in an `App`, without packs and moments of its driver."""

_NONE = Upkeep(max_deltas=30, merge_count=30)
"""Upkeep that keeps all deltas of the first batches referenced."""

CLEANING = [
    Point("before-a-note", "before put note", upkeep=_NONE),
    Point("note-and-nothing-removed", "after put note", upkeep=_NONE),
    Point("amid-collecting-objects", "amid delete delta"),
    Point("collected-and-not-told", "after delete delta"),
]

SPARKS = [
    Point("batch-begun", "begun"),
    Point("a-task-done", "task done"),
    Point("half-of-the-tasks-done", "task done", nth=2),
    Point("state-of-one-partition-committed", "state committed"),
    Point("state-of-the-first-group-committed", "state committed", nth=2),
    Point("state-committed-and-no-rows", "computed"),
    Point("rows-written-and-not-told", "written"),
    Point("batch-done", "done"),
]
"""Moments in Spark: its state, its sink, its log of batches."""

ALL = [*OURS, *CLEANING, *SPARKS]


def cells(points: list[Point], *, every: int = 1) -> list[Any]:
    """Return each point with alternating recoveries and operators, or all of them if requested."""
    if _ALL:
        chosen = list(product(points, _RECOVERIES, _OPERATORS))
    else:
        chosen = [
            (point, _RECOVERIES[n % 3], _OPERATORS[n // 3 % 2])
            for n, point in enumerate(points[::every])
        ]
    return [pytest.param(*cell, id=f"{cell[0].name}, {cell[1]}, {cell[2]}") for cell in chosen]


@pytest.fixture(scope="module")
def client(bucket: Bucket) -> S3ObjectStore:
    opened = bucket.settings("frames-crash").open()
    opened.put_if_absent(f"first-{uuid.uuid4().hex}", b"")
    return opened


def sweep(dying: Dying) -> None:
    """Run batches, crash at the point, recover, run more batches, and compare."""
    for _ in range(BEFORE):
        dying.batch()
    if dying.point.cold:
        dying.lose_local_state()
    dying.arm()
    for _ in range(_MOST_BATCHES):
        if not dying.faults.struck:
            dying.batch()
    assert dying.faults.struck
    for _ in range(AFTER):
        dying.batch()
    dying.check()


@pytest.mark.long
@pytest.mark.parametrize(("point", "recovery", "operator"), cells([p for p in ALL if p.in_memory]))
def test_crashed_query_with_state_in_memory_loses_nothing(
    point: Point,
    recovery: Recovery,
    operator: Operator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Directory(str(tmp_path / "log"))
    backend = lambda place: Memory(directory=place)  # noqa: E731
    sweep(Dying(tmp_path, backend, log, point, recovery, operator, monkeypatch))


@pytest.mark.long
@pytest.mark.parametrize(("point", "recovery", "operator"), cells(ALL[::-1], every=2))
def test_crashed_query_with_state_in_rocksdb_loses_nothing(
    point: Point,
    recovery: Recovery,
    operator: Operator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Directory(str(tmp_path / "log"))
    backend = lambda place: RocksDB(directory=place)  # noqa: E731
    sweep(Dying(tmp_path, backend, log, point, recovery, operator, monkeypatch))


@pytest.mark.long
@pytest.mark.parametrize(
    ("point", "recovery", "operator"), cells([p for p in ALL if p.on_s3], every=4)
)
def test_crashed_query_with_state_on_s3_loses_nothing(
    point: Point,
    recovery: Recovery,
    operator: Operator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bucket: Bucket,
    client: S3ObjectStore,
) -> None:
    log = NamedLog(uuid.uuid4().hex)
    log.known[log.name] = SharedS3(bucket.settings(f"frames-crash/{log.name}"), client)
    backend = lambda place: RocksDB(directory=place)  # noqa: E731
    sweep(Dying(tmp_path, backend, log, point, recovery, operator, monkeypatch))
