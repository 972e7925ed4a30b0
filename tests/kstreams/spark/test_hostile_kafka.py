"""Records and results that are refused, on Spark: the app ends at the end, and each is counted."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kstreams import (
    BYTES,
    App,
    BatchReport,
    DeadLetter,
    Kafka,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.clock import SystemClock
from kstreams.errors import RecordRefusedError
from tests.kstreams.kafka.samples import read_all
from tests.kstreams.spark.apps import Bench
from tests.servers.kafka import KafkaBroker
from tests.servers.raw_produce import RawBytes, produce_raw

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

HOUR_MS = 3_600_000
LIMIT = 100_000


class AsTold(Processor[bytes, bytes, bytes, bytes]):
    """Forwards with the time that the record's value says, or fails."""

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
def test_on_kafka_every_record_is_written_or_set_aside(
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
    said = {key: dict(letter.headers) for key, letter in letters.items()}
    assert {key: headers["kstreams-error-class"] for key, headers in said.items()} == {
        b"name": b"DeserializationError",
        b"zero": b"RecordRefusedError",
        b"ahead": b"RecordRefusedError",
        b"fail": b"ProcessingError",
    }
    assert letters[b"zero"].value == b"0"
    assert letters[b"fail"].value is None
    assert said[b"fail"]["kstreams-error-left-out"] == b"value"
    assert said[b"fail"]["kstreams-error-offset"] == b"4"
    assert dropped == {
        "dead-letter-DeserializationError": 1,
        "dead-letter-RecordRefusedError": 2,
        "dead-letter-ProcessingError": 1,
    }


def test_on_embedded_topics_a_result_before_1970_is_its_records_failure(bench: Bench) -> None:
    topics = [Topic(name, key=BYTES, value=BYTES) for name in ("in", "out")]
    bench.create(*topics, partitions=1)
    bench.emit(topics[0], [(b"a", b"5"), (b"b", b"-5"), (b"c", b"6")])
    with pytest.raises(RecordRefusedError, match="had read in/0 from offset 0 to 2") as caught:
        bench.run(telling("in", "out", "fail"))
    where = caught.value.where
    assert (where.node, where.timestamp, where.key, where.group) == ("out", -5, b"b", "in")
    bench.run(telling("in", "out", "skip"))
    assert [record.timestamp for record in bench.raw("out")] == [5, 6]
    dropped = sum((Counter(report.dropped) for report in bench.reports), Counter[str]())
    assert dropped == {"skipped-RecordRefusedError": 1}
