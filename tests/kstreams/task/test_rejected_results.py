"""Results rejected by their topic: their record is rolled back, or the sink's policy applies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.errors import KStreamsError, RecordRefusedError, UnknownTopicError
from kstreams.io import topic_by
from kstreams.processors import BatchProcessor, PunctuationType
from kstreams.processors.peek import peek
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.columns import rows_of
from kstreams.testing import TopologyTestDriver
from kstreams.topic_limits import NO_LIMITS, TopicLimits
from tests.support.apps.one_task import IN, OUT, OneTask, calls, queue_of, values

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
ASIDE = DeadLetter("aside")
LIMITS = {"out": TopicLimits(least_time=1)}


class Sum(FixedKeyProcessor[str, int, int]):
    """Sums each key in a store; forwards with the record's timestamp."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, int]) -> None:
        total = (self.counts.get(record.key) or 0) + record.value
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class Tables(BatchProcessor[str, int, str, int]):
    """Forwards tables unchanged."""

    def init(self, context: Any) -> None:
        self.context = context

    def process_batch(self, table: pa.Table) -> None:
        self.context.forward(table)


def summing(supplier: Any = Sum, *, on_error: Any = "fail", on_refused: Any = "fail") -> Topology:
    builder = TopologyBuilder("t", on_error=on_error)
    stores = [COUNTS] if supplier is Sum else []
    source = builder.add_source("in", IN)
    node: Any = builder.add_processor("node", supplier, source, stores=stores)
    builder.add_sink("sink", OUT, node, on_refused=on_refused)
    return builder.build()


def limits(topic: str) -> TopicLimits:
    return LIMITS.get(topic, NO_LIMITS)


def run(topology: Topology, *rows: tuple[str, int, int]) -> TaskOutput:
    return OneTask(topology, limits=limits).run(queue_of(rows))


ROWS = ("a", 1, 5), ("a", 10, 0), ("a", 100, 6)


def test_rejected_result_fails_batch_with_its_sink_and_key() -> None:
    with pytest.raises(RecordRefusedError, match="0 ms is before 1 ms") as caught:
        run(summing(), *ROWS)
    where = caught.value.where
    assert (where.node, where.target, where.timestamp, where.key) == ("sink", "out", 0, b"a")
    assert (where.topic, where.offset) == (None, None)  # the source record is not known
    assert "on_refused" in caught.value.hint


@pytest.mark.parametrize("on_error", ["skip", DeadLetter("dlq")], ids=["skip", "dead letter"])
def test_record_of_rejected_result_is_handled_by_policy_of_source(on_error: Any) -> None:
    output = run(summing(on_error=on_error), *ROWS)
    assert values(output, "sink") == [1, 101]
    kind = "skipped" if on_error == "skip" else "dead-letter"
    assert output.dropped == {f"{kind}-RecordRefusedError": 1}
    if on_error != "skip":
        (letter,) = rows_of(output.dead_letters["dlq"])
        error_headers = dict(letter.headers)
        assert error_headers["kstreams-error-node"] == b"sink"
        assert error_headers["kstreams-error-offset"] == b"1"
        assert letter.value == INT64.serialize(10)


@pytest.mark.parametrize("supplier", [Sum, Tables], ids=["records", "tables"])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_sink_with_policy_skip_skips_and_counts_rejected_results(
    supplier: Any, on_error: Any
) -> None:
    output = run(summing(supplier, on_error=on_error, on_refused="skip"), *ROWS)
    assert values(output, "sink") == ([1, 111] if supplier is Sum else [1, 100])
    assert output.dropped == {"refused-skip": 1}


@pytest.mark.parametrize("supplier", [Sum, Tables], ids=["records", "tables"])
def test_sink_with_dead_letter_policy_writes_rejected_results_to_its_topic(supplier: Any) -> None:
    output = run(summing(supplier, on_refused=ASIDE), *ROWS)
    (letter,) = rows_of(output.dead_letters["aside"])
    assert (letter.key, letter.timestamp) == (b"a", 0)
    assert letter.value == INT64.serialize(11 if supplier is Sum else 10)
    error_headers = dict(letter.headers)
    assert error_headers["kstreams-error-class"] == b"RecordRefusedError"
    assert (error_headers["kstreams-error-node"], error_headers["kstreams-error-topic"]) == (
        b"sink",
        b"out",
    )
    assert output.dropped == {"refused-dead-letter": 1}


def test_sink_with_only_rejected_results_has_no_output() -> None:
    output = run(summing(on_refused="skip"), ("a", 1, 0), ("b", 1, -4))
    assert output.sinks == {}
    assert output.dropped == {"refused-skip": 2}


def test_rejected_tables_fail_batch_with_any_policy_of_source() -> None:
    with pytest.raises(RecordRefusedError) as caught:
        run(summing(Tables, on_error="skip"), *ROWS)
    assert "on_refused" in caught.value.hint


class Ticking(FixedKeyProcessor[str, int, int]):
    """Forwards at time 0 once stream time reaches 10."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        kind = PunctuationType.STREAM_TIME
        late = Record("tick", 1, 0)
        context.schedule(timedelta(milliseconds=10), kind, lambda now: context.forward(late))
        self.context = context

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


def test_rejected_results_of_punctuators_follow_policy_of_sink() -> None:
    rows = ("a", 1, 5), ("a", 2, 30)
    with pytest.raises(RecordRefusedError):
        run(summing(Ticking, on_error="skip"), *rows)
    output = run(summing(Ticking, on_error="skip", on_refused="skip"), *rows)
    assert values(output, "sink") == [1, 2]
    assert output.dropped["refused-skip"] > 0


def chosen(on_error: Any) -> Topology:
    builder = TopologyBuilder("t", on_error=on_error)
    source = builder.add_source("in", IN)
    builder.add_processor("look", peek(lambda key, value: None), source)
    target: Any = topic_by(lambda record: f"to-{record.key}", key=TEXT, value=INT64)
    builder.add_sink("sink", target, source)
    return builder.build()


def only_a(topic: str) -> TopicLimits:
    if topic != "to-a":
        raise UnknownTopicError(f"no topic {topic!r}")
    return NO_LIMITS


def test_invalid_chosen_topic_fails_its_record() -> None:
    rows = [("a", 1, 1), ("b", 2, 2), ("a", 3, 3)]
    output = OneTask(chosen("skip"), limits=only_a).run(queue_of(rows))
    assert output.sinks["sink"].column("topic").to_pylist() == ["to-a", "to-a"]
    assert output.dropped == {"skipped-UnknownTopicError": 1}
    with pytest.raises(UnknownTopicError) as caught:
        OneTask(chosen("fail"), limits=only_a).run(queue_of(rows))
    where = caught.value.where
    assert (where.node, where.target) == ("sink", "to-b")
    assert (where.topic, where.partition, where.offset, where.key) == ("in", 0, 1, "b")


def test_error_of_rejected_result_names_sink_and_source_record() -> None:
    """The place never combines the sink's topic with the record's offset."""

    def place(error: KStreamsError) -> tuple[Any, ...]:
        where = error.where
        return where.node, where.target, where.topic, where.partition, where.offset

    limits = {"to-b": TopicLimits(max_bytes=100)}
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    renamed: Any = builder.add_processor("name", calls(_forward_longer), source)
    target: Any = topic_by(lambda record: f"to-{record.key[0]}", key=TEXT, value=INT64)
    builder.add_sink("sink", target, renamed)
    rows = [("a", 1, 1), ("b", 2, 2)]
    with pytest.raises(RecordRefusedError) as caught:
        OneTask(builder.build(), limits=lambda t: limits.get(t, NO_LIMITS)).run(queue_of(rows))
    error = caught.value
    assert place(error) == ("sink", "to-b", "in", 0, 1)
    assert (error.where.key, error.where.timestamp) == ("b", 2)
    assert "the result has key b'b-longer' and timestamp 7" in error.message
    assert "node 'sink', target 'to-b', topic 'in', partition 0, offset 1" in str(error)


def _forward_longer(context: Any, record: Record[Any, Any]) -> None:
    context.forward(Record(f"{record.key}-longer", record.value, 7))


def test_missing_sink_topic_does_not_fail_records_in_task() -> None:
    def missing(topic: str) -> TopicLimits:
        raise UnknownTopicError(f"no topic {topic!r}")

    output = OneTask(summing(on_error="skip"), limits=missing).run(queue_of(ROWS))
    assert values(output, "sink") == [1, 11, 111]  # the write reports that the topic is missing


@pytest.mark.parametrize("on_error", ["skip", DeadLetter("dlq")], ids=["skip", "dead letter"])
def test_test_driver_supports_topic_limits(on_error: Any) -> None:
    with TopologyTestDriver(summing(on_error=on_error), limits=LIMITS) as driver:
        for key, value, time in ROWS:
            driver.pipe(IN, key, value, timestamp=time)
        assert [record.value for record in driver.read(OUT)] == [1, 101]
        assert sum(driver.dropped.values()) == 1
        assert len(driver.read_rows("dlq")) == (on_error != "skip")
