"""Tasks on a new machine restore their state with few requests for the packs that they share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kstreams import (
    INT64,
    TEXT,
    App,
    Embedded,
    Emitter,
    Topic,
    Topology,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.operators import aggregate
from kstreams.state import Memory

pytestmark = pytest.mark.slow

SOURCE, COUNTS = Topic("in", TEXT, INT64), Topic("out", TEXT, INT64)
TASKS, BATCHES, KEYS = 12, 4, 200


def counting() -> Topology:
    builder = TopologyBuilder("shared-packs")
    source = builder.add_source("in", SOURCE)
    store = timestamped_store("counts", key=TEXT, value=INT64)
    builder.add_sink(
        "out", COUNTS, builder.add_processor("count", aggregate(count(), store=store), source)
    )
    return builder.build()


def run_batch(home: Path) -> list[BatchReport]:
    """Count each key once more, in a new process."""
    reports: list[BatchReport] = []
    topics = Embedded(home / "topics", durable=False)
    with Emitter(SOURCE, topics) as emitter:
        emitter.emit_many((str(key), 1) for key in range(KEYS))
    app = App(
        counting(),
        topics,
        state=Memory(str(home / "local")),
        checkpoint=home / "checkpoint",
        parallelism=1,
        engine="embedded",
        on_batch=reports.append,
    )
    app.run(until="end")
    return reports


def test_restore_of_tasks_on_new_machine_reads_each_pack_at_most_twice(tmp_path: Path) -> None:
    admin = Embedded(tmp_path / "topics", durable=False).admin()
    for topic in (SOURCE, COUNTS):
        admin.create(topic.name, TASKS)
    for _ in range(BATCHES):
        run_batch(tmp_path)
    shutil.rmtree(tmp_path / "local")
    packs = len(list(tmp_path.rglob("*.pack")))
    (report,) = run_batch(tmp_path)
    assert [task.restored for task in report.tasks] == [True] * TASKS
    assert BATCHES <= report.log.gets <= 2 * packs < TASKS * BATCHES
