"""`App(stage="group-state")`: partition groups as stateful operators of a streaming query."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from typing_extensions import override

from kstreams import TopologyBuilder
from kstreams.app import AppState
from kstreams.errors import ProcessingError, WorkerDiedError
from tests.kstreams.spark.failing_processors import KillingCount, Sleeping, StrictCount, Trap
from tests.support.spark.bench import (
    TOTALS,
    WORDS,
    Bench,
    counting,
    expected_totals,
)
from tests.support.topologies.repartitioned_counts import (
    RECORDS,
    repartitioned_totals,
    repartitioned_twice,
)

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE = timedelta(seconds=120)


@pytest.fixture
def grouped(bench: Bench) -> Bench:
    if bench.spark is None:
        pytest.skip("group-state needs Spark")
    bench.engine["stage"] = "group-state"
    return bench


def test_counts_after_two_repartitions_continue_in_each_form(grouped: Bench) -> None:
    grouped.create(WORDS, partitions=3)
    parts = [RECORDS, RECORDS[:50], RECORDS[50:90]]
    for part, stage in zip(parts, ("group-state", "workers", "group-state"), strict=True):
        grouped.emit(WORDS, part)
        grouped.run(repartitioned_twice(), stage=stage)
    expected = repartitioned_totals([record for part in parts for record in part])
    assert Counter(grouped.records(TOTALS)) == expected


class Events(StreamingQueryListener):
    """Collects the progress of queries."""

    def __init__(self) -> None:
        self.operators: dict[str, list[tuple[int, int]]] = {}

    @override
    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.operators[str(event.name)] = []

    @override
    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        found = [(each.numRowsTotal, each.numRowsUpdated) for each in event.progress.stateOperators]
        self.operators[str(event.progress.name)] = found

    @override
    def onQueryIdle(self, event: Any) -> None:
        pass

    @override
    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass


def test_spark_shows_one_stateful_operator_per_group_with_one_row_per_task(
    grouped: Bench, spark: SparkSession
) -> None:
    grouped.create(WORDS, partitions=3)
    grouped.emit(WORDS, RECORDS)
    app = grouped.app(repartitioned_twice())
    events = Events()
    spark.streams.addListener(events)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        app.open()
        app.drain(timeout=PATIENCE)
        (query,) = (each for each in spark.streams.active if each.name.startswith("moved: "))
        end = time.monotonic() + 60
        while not events.operators.get(query.name) and time.monotonic() < end:
            time.sleep(0.05)
        progress = query.lastProgress
    finally:
        spark.streams.removeListener(events)
    assert progress is not None
    operators = json.loads(progress.json)["stateOperators"]
    assert [each["operatorName"] for each in operators] == ["applyInPandasWithState"] * 3
    assert [each["numRowsTotal"] for each in operators] == [3, 3, 3]
    assert [rows for rows, _ in events.operators[query.name]] == [3, 3, 3]
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    app.close()
    assert not query.isActive


def test_death_of_a_worker_loses_and_repeats_nothing(grouped: Bench) -> None:
    trap = Trap(grouped.home / "trap", times=2)
    grouped.create(WORDS, partitions=3)
    grouped.emit(WORDS, RECORDS)
    trap.arm()
    grouped.run(repartitioned_twice(lambda: KillingCount(trap)))
    assert trap.sprung == 2
    assert Counter(grouped.records(TOTALS)) == repartitioned_totals(RECORDS)


def test_record_that_always_kills_its_worker_fails_the_app_and_names_the_group(
    grouped: Bench,
) -> None:
    trap = Trap(grouped.home / "trap", times=1_000)
    grouped.create(WORDS, partitions=2)
    grouped.emit(WORDS, RECORDS)
    trap.arm()
    topology = repartitioned_twice(lambda: KillingCount(trap))
    with pytest.raises(WorkerDiedError) as caught:
        grouped.run(topology)
    assert caught.value.where.group == topology.group_of_store("counts").name
    assert caught.value.deaths == trap.sprung == 3  # this session retries a task twice
    trap.disarm()
    grouped.run(topology)
    assert Counter(grouped.records(TOTALS)) == repartitioned_totals(RECORDS)


def test_error_of_a_processor_names_the_record_and_the_next_start_continues(
    grouped: Bench,
) -> None:
    grouped.create(WORDS)
    grouped.emit(WORDS, [("a", "good")])
    grouped.run(counting(StrictCount))
    grouped.emit(WORDS, [("a", "bad")])
    with pytest.raises(ProcessingError, match="a bad record") as caught:
        grouped.run(counting(StrictCount))
    where = caught.value.where
    assert (where.node, where.topic, where.offset) == ("count", "words", 1)
    grouped.run(counting())
    assert Counter(grouped.records(TOTALS)) == expected_totals([("a", "")] * 2)


def test_close_with_a_timeout_interrupts_the_micro_batch(
    grouped: Bench, spark: SparkSession
) -> None:
    begun = grouped.home / "begun"
    grouped.create(WORDS)
    grouped.emit(WORDS, [("a", str(begun))])
    builder = TopologyBuilder("sleeping")
    builder.add_processor("sleep", Sleeping, builder.add_source("words", WORDS))
    app = grouped.app(builder.build())
    app.start()
    end = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < end:
        time.sleep(0.01)
    began = time.monotonic()
    app.close(timedelta(seconds=0.5))
    assert time.monotonic() - began < 30
    assert app.state is AppState.STOPPED
    assert not spark.streams.active


def test_two_apps_with_one_id_run_at_the_same_time(grouped: Bench, spark: SparkSession) -> None:
    grouped.create(WORDS)
    grouped.emit(WORDS, RECORDS)
    first = grouped.app(counting())
    second = grouped.app(repartitioned_twice(), app_id="counting", checkpoint=grouped.home / "2")
    for app in (first, second):
        app.open()
    for app in (first, second):
        app.drain(timeout=PATIENCE)
    assert len({query.name for query in spark.streams.active}) == 2
    for app in (first, second):
        app.close()
    expected = expected_totals(RECORDS) + repartitioned_totals(RECORDS)
    assert Counter(grouped.records(TOTALS)) == expected
