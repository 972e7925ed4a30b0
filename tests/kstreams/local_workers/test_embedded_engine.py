"""The embedded engine: the results of Spark, without Spark."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kstreams import (
    TEXT,
    App,
    Embedded,
    Record,
    TopologyBuilder,
    key_value_store,
)
from kstreams.app import AppState
from kstreams.errors import CompileError, ExecutionError, ProcessingError, WorkerDiedError
from kstreams.local_workers import engine
from kstreams.workers.pool import WorkerPool
from tests.kstreams.spark.failing_processors import KillingCount, Sleeping, StrictCount, Trap
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    Count,
    counting,
    expected_totals,
)
from tests.support.topologies.repartitioned_counts import (
    RECORDS,
    repartitioned_totals,
    repartitioned_twice,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, None)
    yield made
    made.close()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_records_are_counted_once_after_repartitions(bench: Bench, workers: int) -> None:
    bench.create(WORDS, partitions=5)
    bench.emit(WORDS, RECORDS)
    bench.run(repartitioned_twice(), parallelism=workers)
    bench.emit(WORDS, RECORDS[:50])
    bench.run(repartitioned_twice(), parallelism=3)
    assert Counter(bench.records(TOTALS)) == repartitioned_totals([*RECORDS, *RECORDS[:50]])


@pytest.mark.kill
def test_batch_runs_again_after_the_death_of_a_worker(bench: Bench) -> None:
    trap = Trap(bench.home / "trap", times=2)
    bench.create(WORDS, partitions=3)
    bench.emit(WORDS, RECORDS)
    trap.arm()
    bench.run(repartitioned_twice(lambda: KillingCount(trap)))
    assert trap.sprung == 2
    assert Counter(bench.records(TOTALS)) == repartitioned_totals(RECORDS)


@pytest.mark.kill
def test_third_death_in_a_batch_is_an_error_with_group_and_records(bench: Bench) -> None:
    trap = Trap(bench.home / "trap", times=1_000)
    bench.create(WORDS, partitions=2)
    bench.emit(WORDS, RECORDS)
    trap.arm()
    topology = repartitioned_twice(lambda: KillingCount(trap))
    with pytest.raises(WorkerDiedError) as caught:
        bench.run(topology)
    error = caught.value
    assert error.deaths == 3
    assert error.where.group == topology.group_of_store("counts").name
    assert sum(end - begin for _, _, begin, end in error.under_way) == len(RECORDS)
    trap.disarm()
    bench.run(topology)
    assert Counter(bench.records(TOTALS)) == repartitioned_totals(RECORDS)


def test_error_of_a_processor_is_raised_with_its_place(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, [("a", "good"), ("a", "bad")])
    with pytest.raises(ProcessingError, match="a bad record") as caught:
        bench.run(counting(StrictCount))
    where = caught.value.where
    assert (where.node, where.topic, where.offset) == ("count", "words", 1)
    assert "raise ValueError" in str(caught.value.__cause__)


def test_drain_of_app_that_runs_in_background_raises_error(bench: Bench) -> None:
    bench.create(WORDS)
    app = bench.app(counting())
    app.start()
    with pytest.raises(ExecutionError, match=r"drain\(\) was called while .* in the background"):
        app.drain()
    app.close()


def test_close_interrupts_a_batch_after_its_timeout(bench: Bench) -> None:
    begun = bench.home / "begun"
    bench.create(WORDS)
    bench.emit(WORDS, [("a", str(begun))])
    builder = TopologyBuilder("sleeping")
    builder.add_processor("sleep", Sleeping, builder.add_source("words", WORDS))
    app = bench.app(builder.build())
    app.start()
    end = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < end:
        time.sleep(0.01)
    began = time.monotonic()
    app.close(timedelta(seconds=0.5))
    assert time.monotonic() - began < 20
    assert app.state is AppState.STOPPED


def test_several_queries_and_apps_run_at_the_same_time(bench: Bench) -> None:
    builder = TopologyBuilder("two-queries")
    other = key_value_store("others", key=TEXT, value=TOTALS.value)
    more = type(WORDS)("more", TEXT, TEXT)
    for name, topic, store in (("a", WORDS, COUNTS), ("b", more, other)):
        source = builder.add_source(name, topic)
        builder.add_processor(f"count-{name}", partial(_CountIn, store), source, stores=[store])
    topology = builder.build()
    assert len(topology.pipelines()) == 2
    bench.create(WORDS, more)
    bench.emit(WORDS, RECORDS)
    bench.emit(more, RECORDS[:30])
    first = bench.app(topology)
    second = bench.app(counting(), checkpoint=bench.home / "second")
    for app in (first, second):
        app.open()
    for app in (first, second):
        app.drain(timeout=timedelta(seconds=90))
    assert sum(bench.store(topology, COUNTS).values()) == len(RECORDS)
    assert sum(bench.store(topology, other).values()) == 30
    assert Counter(bench.records(TOTALS)) == expected_totals(RECORDS)


class _CountIn(Count):
    def __init__(self, store: Any) -> None:
        self.spec = store

    def process(self, record: Record[str, str]) -> None:
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + 1)


def test_idle_app_fails_when_its_workers_cannot_run_any_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[WorkerPool] = []

    def pool(*arguments: Any, **options: Any) -> WorkerPool:
        pools.append(WorkerPool(*arguments, **options))
        return pools[-1]

    monkeypatch.setattr(engine, "WorkerPool", pool)
    bench.create(WORDS)
    app = bench.app(counting())
    app.start()
    pools[0].fail(ExecutionError("the machine has ended"))
    end = time.monotonic() + 60
    while app.state is not AppState.FAILED and time.monotonic() < end:
        time.sleep(0.01)
    assert app.state is AppState.FAILED
    with pytest.raises(ExecutionError, match="the machine has ended"):
        app.close()


_SCRIPT = """
import sys
from dataclasses import dataclass
from pathlib import Path
from kstreams import App, Embedded, Emitter, TEXT, Topic, TopologyBuilder, map_values

@dataclass
class Word:
    text: str

def upper(value):
    return Word(value.upper()).text

home = Path(sys.argv[1])
lines, out = Topic("lines", TEXT, TEXT), Topic("out", TEXT, TEXT)
builder = TopologyBuilder("script")
upper_lines = builder.add_processor("upper", map_values(upper), builder.add_source("lines", lines))
builder.add_sink("out", out, upper_lines)
topics = Embedded(home / "topics", durable=False)
with Emitter(lines, topics) as emitter:
    emitter.emit_many([("a", "word")])
App(builder.build(), topics, checkpoint=home / "app", engine="embedded").run(until="end")
reader = topics.reader()
for partition, end in topics.admin().end_offsets("out").items():
    for record in reader.read("out", partition, 0, end):
        print(record.value.decode())
print([name for name in ("pyspark", "py4j") if name in sys.modules])
"""


def test_script_runs_without_java_and_pyspark(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=100,
    )
    assert done.stdout.splitlines() == ["WORD", "[]"]
    assert done.stderr == ""


def test_settings_of_spark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="settings of Spark"):
        App(counting(), Embedded(tmp_path), engine="embedded", config={"spark.master": "local"})
