"""A byte limit on Spark: batches are planned smaller, never stuck, and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import INT64, TEXT, App, Emitter, Record, Topic, Topology, TopologyBuilder, flat_map
from kstreams.app import BatchReport
from kstreams.batch.io.embedded.feed import EmbeddedFeed
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import FencedError
from kstreams.ids import TopicPartition
from kstreams_kafka.options import Kafka
from tests.support.kafka.sample_records import read_all
from tests.support.spark.bench import TOTALS, WORDS, Bench, Count, counting, expected_totals

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SIZE = 10_000
BOUND = 25 * SIZE


def words(count: int, size: int = SIZE) -> Iterator[tuple[str, str]]:
    for n in range(count):
        yield f"k{n % 7}", "x" * size


def plans_of(bench: Bench, topology: Topology) -> PlanLog:
    name = query_name(topology.pipelines()[0])
    return Checkpoint.load(home_of(bench.checkpoint)).plans(name)


def plan_all(bench: Bench, topology: Topology) -> int:
    """Write the plan of a batch with all records, and return the batch's number.

    The batch does not run, as if the driver was killed right after it had written the plan.
    """
    node = topology.sources[0]
    feed, ends = EmbeddedFeed(bench.connection), bench.connection.admin().end_offsets(WORDS.name)
    tasks: dict[tuple[int, int], list[Slice]] = {
        (0, p): list(feed.slices(node, p, 0, end)) for p, end in ends.items()
    }
    plans = plans_of(bench, topology)
    number = 1 + bench.last_commit(topology).batch
    positions = {TopicPartition(WORDS.name, p): end for p, end in ends.items()}
    plans.write(number, Plan(tasks, positions, wall_ms=1))
    return number


def test_batches_stay_within_byte_limit(bench: Bench) -> None:
    bench.create(WORDS, TOTALS)
    bench.emit(WORDS, words(200))
    bench.run(counting(), max_bytes_per_batch=BOUND)
    read = [report.source_records for report in bench.reports if report.source_records]
    assert max(read) <= 25
    assert sum(read) == 200
    assert set(bench.records(TOTALS)) == set(expected_totals(words(200)))


def test_written_plan_above_lowered_byte_limit_is_cut(bench: Bench) -> None:
    bench.create(WORDS, TOTALS)
    topology = counting()
    bench.run(topology)
    bench.emit(WORDS, words(200))
    number = plan_all(bench, topology)
    bench.run(topology, max_bytes_per_batch=BOUND)
    assert sorted(bench.records(TOTALS)) == sorted(expected_totals(words(200)).elements())
    read = [report.source_records for report in bench.reports if report.source_records]
    assert sum(read) == 200
    assert max(read) <= 50  # the limit in each of two workers
    plan = plans_of(bench, topology).find(number)
    assert plan is not None
    assert plan.revision >= 1


def test_record_above_limit_is_only_record_of_its_batch(bench: Bench) -> None:
    bench.create(WORDS, TOTALS, partitions=1)
    topology = counting()
    bench.run(topology)
    records = [("a", "x"), ("b", "y" * 20 * BOUND), ("c", "z")]
    bench.emit(WORDS, records)
    plan_all(bench, topology)
    bench.run(topology, max_bytes_per_batch=BOUND)
    assert bench.records(TOTALS) == [("a", 1), ("b", 1), ("c", 1)]
    assert [r.source_records for r in bench.reports if r.source_records] == [1, 1, 1]


def test_batch_retried_after_cut_runs_its_cut_plan(bench: Bench) -> None:
    bench.create(WORDS, TOTALS)
    topology = counting()
    bench.run(topology)
    bench.emit(WORDS, words(200))
    number = plan_all(bench, topology)
    plans = plans_of(bench, topology)
    whole = plans.find(number)
    assert whole is not None
    small = {task: tuple(s.until(3) for s in slices[:1]) for task, slices in whole.tasks.items()}
    positions = {TopicPartition(WORDS.name, p): 3 for p in range(2)}
    plans.replace(number, Plan(small, positions, wall_ms=1, cuts={(0, 0): 1, (0, 1): 1}))
    bench.run(topology)
    read = [report.source_records for report in bench.reports if report.source_records]
    assert read[0] == 6
    assert sorted(bench.records(TOTALS)) == sorted(expected_totals(words(200)).elements())


def test_second_of_two_drivers_that_cut_a_plan_is_fenced(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(WORDS, TOTALS)
    topology = counting()
    bench.run(topology)
    bench.emit(WORDS, words(200))
    plan_all(bench, topology)
    replace = PlanLog.replace

    def after_another(directory: PlanLog, number: int, plan: Plan) -> Plan:
        replace(directory, number, plan)
        return replace(directory, number, plan)

    monkeypatch.setattr(PlanLog, "replace", after_another)
    with pytest.raises(FencedError, match="another driver"):
        bench.run(topology, max_bytes_per_batch=BOUND)
    monkeypatch.undo()
    assert bench.records(TOTALS) == []
    bench.run(topology, max_bytes_per_batch=BOUND)
    assert sorted(bench.records(TOTALS)) == sorted(expected_totals(words(200)).elements())


def chained() -> Topology:
    """Return a topology of two stages: words -> rekeyed by first letter -> count -> totals."""
    builder = TopologyBuilder("chained")
    words = builder.add_source("words", WORDS)
    edge = builder.repartition("edge", words, key=TEXT, value=TEXT)
    counted = builder.add_processor("count", Count, edge, stores=[Count.spec])
    builder.add_sink("totals", TOTALS, counted)
    return builder.build()


def test_no_later_stage_runs_while_part_of_batch_is_refused(bench: Bench) -> None:
    bench.create(WORDS, TOTALS)
    topology = chained()
    bench.run(topology)
    bench.emit(WORDS, [("k0", "x" * SIZE)] * 120 + [(f"k{n}", "x") for n in range(1, 7)])
    plan_all(bench, topology)
    bench.run(topology, max_bytes_per_batch=BOUND)
    found = sorted(bench.records(TOTALS))
    assert found == sorted([("k0", n) for n in range(1, 121)] + [(f"k{n}", 1) for n in range(1, 7)])


@pytest.mark.kafka
def test_records_of_unknown_size_on_kafka_are_read_within_limit(
    spark: SparkSession, broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    source, target = Topic(topic_name, TEXT, TEXT), Topic(f"{topic_name}-totals", TEXT, INT64)
    broker.create_topic(source.name, 2)
    broker.create_topic(target.name, 2)
    kafka = Kafka(broker.bootstrap)
    records = [*words(100, 10), *words(100, 4 * SIZE), ("big", "x" * 2 * BOUND), *words(20, 10)]
    with Emitter(source, kafka) as emitter:
        emitter.emit_many(Record(key, value, 1_000) for key, value in records)
    builder = TopologyBuilder("counting")
    read = builder.add_source("words", source)
    counted = builder.add_processor("count", Count, read, stores=[Count.spec])
    builder.add_sink("totals", target, counted, result_ids=True)
    reports: list[BatchReport] = []
    app = App(
        builder.build(),
        kafka,
        checkpoint=tmp_path / "checkpoint",
        spark=spark,
        trigger=timedelta(0),
        parallelism=2,
        max_bytes_per_batch=BOUND,
        on_batch=reports.append,
    )
    with app:
        app.run(until="end", timeout=timedelta(seconds=120))
    found: dict[bytes | None, tuple[str, int]] = {}
    for row in read_all(kafka, target.name):
        total = TEXT.deserialize(row.key or b""), INT64.deserialize(row.value or b"")
        assert found.setdefault(dict(row.headers)["kstreams-id"], total) == total
    assert sorted(found.values()) == sorted(expected_totals(records).elements())
    assert len(reports) > 10


RESULTS = 1_500_000


def exploding() -> Topology:
    """Return a topology: words -> many numbers each -> totals; the last result is memory use."""

    def many(key: str, value: str) -> Iterator[tuple[str, int]]:
        before = _anonymous_kib()
        for number in range(RESULTS):
            yield key, number
        yield "grown", _anonymous_kib() - before

    builder = TopologyBuilder("exploding")
    node = builder.add_processor("many", flat_map(many), builder.add_source("words", WORDS))
    builder.add_sink("totals", TOTALS, node)
    return builder.build()


def _anonymous_kib() -> int:
    """Return the size of anonymous memory of this process, in KiB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line[:7] == "RssAnon")


def test_millions_of_results_of_one_record_use_bounded_memory(bench: Bench) -> None:
    bench.create(WORDS, partitions=1)
    bench.create(TOTALS, partitions=1)
    bench.emit(WORDS, [("a-key-of-some-length-so-that-a-result-has-some-bytes", "x")])
    bench.run(exploding())
    log = bench.connection.log()
    tables = [log.read(segment) for segment in log.segments(TOTALS.name, 0)]
    assert sum(table.nbytes for table in tables) > 120 << 20
    values = [value for table in tables for value in table.column("value").to_pylist()]
    assert values[:-1] == [number.to_bytes(8, "big") for number in range(RESULTS)]
    assert INT64.deserialize(values[-1]) < 120 << 10
