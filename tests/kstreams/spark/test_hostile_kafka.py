"""Rejected records and results on Spark: the app reaches the end, and each is counted."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from devtools.servers.raw_produce import RawBytes, produce_raw
from kstreams import (
    BYTES,
    INT64,
    App,
    DeadLetter,
    Kafka,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.clock import SystemClock
from kstreams.durations import minutes
from kstreams.errors import RecordRefusedError
from kstreams.stores import KeyValueStore, StoreSpec, session_store
from kstreams.windows import SessionWindows, windowed, windowed_aggregate
from tests.support.kafka.sample_records import read_all
from tests.support.spark.bench import Bench

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

HOUR_MS = 3_600_000
LIMIT = 100_000


class AsTold(Processor[bytes, bytes, bytes, bytes]):
    """Forwards each record with the timestamp in its value, or fails."""

    def init(self, context: ProcessorContext[bytes, bytes]) -> None:
        self.context = context

    def process(self, record: Record[bytes, bytes]) -> None:
        if record.key == b"fail":
            raise ValueError(record.value)
        self.context.forward(record.with_timestamp(int(record.value)))


def telling(source: str, sink: str, on_error: object) -> Topology:
    builder = TopologyBuilder("telling", on_error=on_error)  # type: ignore[arg-type]  # a policy
    node = builder.add_processor(
        "as-told", AsTold, builder.add_source("in", Topic(source, key=BYTES, value=BYTES))
    )
    builder.add_sink("out", Topic(sink, key=BYTES, value=BYTES), node)
    return builder.build()


@pytest.mark.kafka
def test_each_record_on_kafka_is_written_or_becomes_dead_letter(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, topic_name: str
) -> None:
    limited = {"message.timestamp.after.max.ms": str(HOUR_MS), "max.message.bytes": str(LIMIT)}
    source = broker.create_topic(f"{topic_name}-in")
    sink = broker.create_topic(f"{topic_name}-out", config=limited)
    dead = broker.create_topic(f"{topic_name}-dead", config=limited)
    now = SystemClock().now_ms()
    sent = [
        RawBytes(b"good", b"%d" % now, now),
        RawBytes(b"name", b"%d" % now, now, [(b"\xff", b"1")]),
        RawBytes(b"zero", b"0", now),
        RawBytes(b"ahead", b"%d" % (now + 2 * HOUR_MS), now),
        RawBytes(b"fail", os.urandom(LIMIT - 200), -1),
        RawBytes(b"good", b"%d" % (now + 1), now),
    ]
    produce_raw(broker.bootstrap, source, sent)
    dropped: Counter[str] = Counter()

    def count(report: BatchReport) -> None:
        dropped.update(report.dropped)

    app = App(
        telling(source, sink, DeadLetter(dead)),
        Kafka(broker.bootstrap),
        checkpoint=tmp_path / "checkpoint",
        spark=spark,
        parallelism=1,
        on_batch=count,
    )
    app.run(until="end", timeout=timedelta(seconds=90))
    kafka = Kafka(broker.bootstrap)
    assert [(r.key, r.timestamp) for r in read_all(kafka, sink)] == [
        (b"good", now),
        (b"good", now + 1),
    ]
    letters = {letter.key: letter for letter in read_all(kafka, dead)}
    error_headers = {key: dict(letter.headers) for key, letter in letters.items()}
    assert {key: headers["kstreams-error-class"] for key, headers in error_headers.items()} == {
        b"name": b"DeserializationError",
        b"zero": b"RecordRefusedError",
        b"ahead": b"RecordRefusedError",
        b"fail": b"ProcessingError",
    }
    assert letters[b"zero"].value == b"0"
    assert letters[b"fail"].value is None
    assert error_headers[b"fail"]["kstreams-error-left-out"] == b"value"
    assert error_headers[b"fail"]["kstreams-error-offset"] == b"4"
    assert dropped == {
        "dead-letter-DeserializationError": 1,
        "dead-letter-RecordRefusedError": 2,
        "dead-letter-ProcessingError": 1,
    }


def sessions(skipping: str, setting_aside: str, dead: str, sink: str) -> Topology:
    """Count sessions of two topics, each with its own error policy."""
    builder = TopologyBuilder("sessions")
    windows = SessionWindows(minutes(1))
    results: Topic[Any, Any] = Topic(sink, windowed(BYTES, windows), INT64)
    policies: dict[str, Any] = {skipping: "skip", setting_aside: DeadLetter(dead)}
    for number, (topic, policy) in enumerate(policies.items()):
        records = Topic(topic, key=BYTES, value=BYTES)
        source = builder.add_source(f"in{number}", records, on_error=policy)
        store = session_store(f"sessions{number}", key=BYTES, value=INT64)
        counting = windowed_aggregate(windows, count(), store=store)
        counted = builder.add_processor(f"count{number}", counting, source)
        builder.add_sink(f"out{number}", results, counted)
    return builder.build()


@pytest.mark.kafka
def test_extreme_or_future_times_on_kafka_do_not_change_sessions(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, topic_name: str
) -> None:
    any_time = {"message.timestamp.after.max.ms": str((1 << 63) - 1)}
    names = [f"{topic_name}-{name}" for name in ("skip", "aside", "dead", "out")]
    skipping, aside, dead, sink = [broker.create_topic(name, config=any_time) for name in names]
    now = SystemClock().now_ms()
    odd = [(1 << 63) - 1, (1 << 63) - 5, now + 10 * 365 * 24 * HOUR_MS]
    times = [now, *odd, now + 1, now - HOUR_MS // 60 // 2]
    for topic in (skipping, aside):
        produce_raw(broker.bootstrap, topic, [RawBytes(b"k", b"v", time) for time in times])
    dropped: Counter[str] = Counter()
    app = App(
        sessions(skipping, aside, dead, sink),
        Kafka(broker.bootstrap),
        checkpoint=tmp_path / "checkpoint",
        spark=spark,
        parallelism=1,
        on_batch=lambda report: dropped.update(report.dropped),
    )
    app.run(until="end", timeout=timedelta(seconds=90))
    assert dropped == {"skipped-EventTimeError": 3, "dead-letter-EventTimeError": 3}
    kafka = Kafka(broker.bootstrap)
    counts = [INT64.deserialize(r.value) for r in read_all(kafka, sink) if r.value is not None]
    assert sorted(counts)[-2:] == [
        3,
        3,
    ]  # both sessions contain the records before and after the extreme ones
    error_headers = [dict(letter.headers) for letter in read_all(kafka, dead)]
    assert [each["kstreams-error-timestamp"] for each in error_headers] == [
        b"%d" % time for time in odd
    ]
    assert [each["kstreams-error-offset"] for each in error_headers] == [b"1", b"2", b"3"]


@pytest.mark.kafka
def test_app_stops_before_open_transaction_and_reads_it_after_commit(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, topic_name: str
) -> None:
    source = broker.create_topic(f"{topic_name}-in")
    sink = broker.create_topic(f"{topic_name}-out")
    now = b"%d" % SystemClock().now_ms()
    plain = Producer({"bootstrap.servers": broker.bootstrap})
    writer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic_name})
    writer.init_transactions(30)
    writer.begin_transaction()
    for producer, key in ((plain, b"before"), (writer, b"in it"), (plain, b"behind")):
        producer.produce(source, now, key, 0)
        assert producer.flush(30) == 0
    kafka = Kafka(broker.bootstrap)
    run = running(telling(source, sink, "fail"), kafka, spark, tmp_path)
    run()
    assert [record.key for record in read_all(kafka, sink)] == [b"before"]
    writer.commit_transaction(30)
    await_end(kafka, source, 4)
    run()
    assert [record.key for record in read_all(kafka, sink)] == [b"before", b"in it", b"behind"]


class Keep(Processor[bytes, bytes, bytes, bytes]):
    """Stores the last value of each key, with a changelog."""

    def __init__(self, spec: StoreSpec[KeyValueStore[bytes, bytes]]) -> None:
        self.spec = spec

    def init(self, context: ProcessorContext[bytes, bytes]) -> None:
        self.last = context.store(self.spec)

    def process(self, record: Record[bytes, bytes]) -> None:
        self.last.put(record.key, record.value)


def keeping(source: str, changelog: str) -> Topology:
    builder = TopologyBuilder("keeping", on_error="skip")
    spec = key_value_store("last", key=BYTES, value=BYTES).with_changelog(changelog)
    records = builder.add_source("in", Topic(source, key=BYTES, value=BYTES))
    builder.add_processor("keep", partial(Keep, spec), records, stores=[spec])
    return builder.build()


@pytest.mark.kafka
def test_deleted_changelog_is_rewritten_and_rejected_row_is_named(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path, topic_name: str
) -> None:
    kafka, log = Kafka(broker.bootstrap), f"{topic_name}-log"
    source = broker.create_topic(f"{topic_name}-ahead")
    now = SystemClock().now_ms() + 2 * HOUR_MS  # later than the first changelog accepts
    broker.create_topic(
        log, config={"cleanup.policy": "compact", "message.timestamp.after.max.ms": str(HOUR_MS)}
    )
    run = running(keeping(source, log), kafka, spark, tmp_path)
    produce_raw(broker.bootstrap, source, [RawBytes(b"a", b"1", now), RawBytes(b"b", b"1", now)])
    run()
    with closing(kafka.admin()) as admin:
        admin.delete(log)
    produce_raw(broker.bootstrap, source, [RawBytes(b"b", b"2", now)])
    run()
    assert [(r.key, r.value) for r in read_all(kafka, log)] == [(b"a", b"1"), (b"b", b"2")]

    with closing(kafka.admin()) as admin:
        admin.delete(log)
    limited = f"{topic_name}-limited"
    broker.create_topic(limited, config={"max.message.bytes": str(LIMIT)})
    produce_raw(broker.bootstrap, source, [RawBytes(b"large", os.urandom(2 * LIMIT), now)])
    with pytest.raises(RecordRefusedError) as caught:
        running(keeping(source, limited), kafka, spark, tmp_path)()
    error = caught.value
    assert (error.where.store, error.where.key) == ("last", b"large")
    for word in (f"changelog '{limited}'", str(LIMIT), "store 'last'"):
        assert word in error.message
    assert "raise max.message.bytes" in error.hint
    assert read_all(kafka, limited) == []
    run()  # on a topic that accepts the time
    assert [r.key for r in read_all(kafka, log)] == [b"a", b"b", b"large"]


def running(
    topology: Topology, kafka: Kafka, spark: SparkSession, home: Path
) -> Callable[[], None]:
    """Return a function that starts an app and runs it to the end."""

    def run() -> None:
        options: dict[str, Any] = {"checkpoint": home / "checkpoint", "spark": spark}
        with App(topology, kafka, parallelism=1, trigger=timedelta(0), **options) as app:
            app.run(until="end", timeout=timedelta(seconds=90))

    return run


def await_end(kafka: Kafka, topic: str, offset: int) -> None:
    """Wait for the end offset: the cluster ends a transaction after acknowledging it."""
    deadline = time.monotonic() + 30
    with closing(kafka.admin()) as admin:
        while admin.end_offsets(topic) != {0: offset}:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_result_before_1970_on_embedded_topic_fails_its_record(bench: Bench) -> None:
    topics = [Topic(name, key=BYTES, value=BYTES) for name in ("in", "out")]
    bench.create(*topics, partitions=1)
    bench.emit(topics[0], [(b"a", b"5"), (b"b", b"-5"), (b"c", b"6")])
    with pytest.raises(RecordRefusedError, match="had read in/0 from offset 0 to 2") as caught:
        bench.run(telling("in", "out", "fail"))
    where = caught.value.where
    assert (where.node, where.timestamp, where.key, where.group) == ("out", -5, b"b", "in")
    assert (where.target, where.topic) == ("out", None)
    bench.run(telling("in", "out", "skip"))
    assert [record.timestamp for record in bench.raw("out")] == [5, 6]
    dropped = sum((Counter(report.dropped) for report in bench.reports), Counter[str]())
    assert dropped == {"skipped-RecordRefusedError": 1}
