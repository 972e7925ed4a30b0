"""Event times from an extractor or the wall clock, with a policy for missing ones."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kstreams import BYTES, INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.errors import EventTimeError, ProcessingError
from kstreams.errors.building import TopologyError
from kstreams.ids import TopicPartition
from kstreams.processors.on_error import DeadLetter
from kstreams.state.stores.window.kind import window_store
from kstreams.times import EARLIEST_MS, LATEST_MS
from kstreams.topology import wall_clock
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_testing.driver import TopologyTestDriver
from tests.support.apps.one_task import IN, OUT, OneTask, queue_of, records

OTHER: Topic[str, int] = Topic("other", TEXT, INT64)
WINDOWS = TumblingWindows(milliseconds(10))


def value_of(record: Record[str, int]) -> int | None:
    """Return the value as event time; 99 means no time."""
    return None if record.value == 99 else record.value


def task_of(extract: Any, **options: Any) -> OneTask:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN, event_time=extract, **options)
    builder.add_sink("out", OUT, source)
    return OneTask(builder.build())


def run(task: OneTask, *values: int | bytes, wall_ms: int = 0) -> Any:
    start = task.meta.next_offsets.get(TopicPartition("in", 0), 0)
    rows = [("k", value, 1000) for value in values]
    queue = queue_of(rows, offsets=range(start, start + len(rows)))
    return task.run(queue, wall_ms=wall_ms)


def times(output: Any) -> list[int]:
    return [record.timestamp for record in records(output.sinks.get("out"))]


def test_all_nodes_after_source_use_extracted_time() -> None:
    task = task_of(value_of)
    assert times(run(task, 7, 3)) == [7, 3]
    assert task.meta.stream_time == 7


def test_extractor_receives_record_unchanged() -> None:
    seen: list[Record[str, int]] = []

    def extract(record: Record[str, int]) -> datetime:
        seen.append(record)
        return datetime.fromtimestamp(5, timezone.utc)

    task = task_of(extract)
    output = task.run(queue_of([("k", 1, 9), ("k", 2, 9)], headers=[(("h", b"1"),), ()]))
    assert times(output) == [5000, 5000]
    assert seen == [Record("k", 1, 9, (("h", b"1"),)), Record("k", 2, 9)]


@pytest.mark.parametrize("missing", [99, -5])
def test_record_without_time_fails_batch(missing: int) -> None:
    with pytest.raises(ProcessingError, match="no event time") as caught:
        run(task_of(value_of), 7, missing)
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("in", 0, 1)
    assert "invalid_time" in caught.value.hint


@pytest.mark.parametrize("missing", [99, -5])
def test_record_without_time_is_skipped_and_counted(missing: int) -> None:
    output = run(task_of(value_of, invalid_time="skip"), 7, missing, 8)
    assert (times(output), output.dropped) == ([7, 8], {"no-event-time": 1})


@pytest.mark.parametrize("missing", [99, -5])
def test_record_without_time_gets_time_of_its_partition(missing: int) -> None:
    task = task_of(value_of, invalid_time="partition-time")
    assert times(run(task, 7, 3, missing)) == [7, 3, 7]
    task.renew()
    assert times(run(task, missing, 9, missing)) == [7, 9, 9]


def test_partition_time_policy_uses_last_time_of_the_same_partition() -> None:
    task = task_of(value_of, invalid_time="partition-time")
    one, two = queue_of([("k", 7, 0)]), queue_of([("k", 4, 0), ("k", 99, 0)], partition=1)
    assert sorted(times(task.run(one, two))) == [4, 4, 7]


def test_partition_without_time_fails_record_without_time() -> None:
    with pytest.raises(ProcessingError, match="no event time"):
        run(task_of(value_of, invalid_time="partition-time"), 99)


@pytest.mark.parametrize("policy", ["skip", DeadLetter("letters")])
def test_failing_extractor_is_handled_by_policy_of_source(policy: Any) -> None:
    def extract(record: Record[str, int]) -> int:
        if record.value == 13:
            raise ValueError("unlucky")
        return record.value

    output = run(task_of(extract, on_error=policy), 7, 13, 8)
    kind = "skipped" if policy == "skip" else "dead-letter"
    assert (times(output), output.dropped) == ([7, 8], {f"{kind}-ProcessingError": 1})
    assert bool(output.dead_letters) == (policy != "skip")


@pytest.mark.parametrize("wrong", [1.5, 1 << 63, datetime(2020, 1, 1)])
def test_time_of_wrong_type_fails_record(wrong: Any) -> None:
    with pytest.raises(ProcessingError):
        run(task_of(lambda _: wrong), 1)


def test_undecodable_record_is_handled_before_time_extraction() -> None:
    output = run(task_of(value_of, on_error="skip"), 7, b"bad", 8)
    assert (times(output), output.dropped) == ([7, 8], {"skipped-DeserializationError": 1})


def test_topics_are_merged_by_event_time() -> None:
    builder = TopologyBuilder("t")
    one = builder.add_source("in", IN, event_time=value_of)
    two = builder.add_source("other", OTHER)
    builder.add_sink("out", OUT, builder.merge("both", one, two))
    task = OneTask(builder.build())
    output = task.run(queue_of([("k", 5, 0)]), queue_of([("k", 0, 3)], entry="other"))
    assert times(output) == [3, 5]


def test_wall_clock_time_is_recorded_time_of_batch() -> None:
    task = task_of(wall_clock())
    assert times(run(task, 1, 2, wall_ms=40)) == [40, 40]
    assert times(run(task, 3, wall_ms=50)) == [50]
    assert task.meta.stream_time == 50


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("extract", [value_of, wall_clock()], ids=["extractor", "wall-clock"])
def test_windows_use_event_time(execution: Any, extract: Any) -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN, event_time=extract)
    store = window_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor(
        "counts", windowed_aggregate(WINDOWS, count(), store=store, execution=execution), source
    )
    sink: Any = Topic("out", windowed(TEXT, WINDOWS), INT64)
    builder.add_sink("out", sink, counted)
    with TopologyTestDriver(builder.build(), start=25) as driver:
        driver.pipe_batch(IN, [Record("k", value, 1000) for value in (21, 29, 27)])
        (result,) = driver.read(sink)
    assert (result.key.start_ms, result.value) == (20, 3)
    assert result.timestamp == (29 if extract is value_of else 25)


def test_unknown_policy_for_invalid_times_is_rejected() -> None:
    wrong: Any = "ignore"
    with pytest.raises(TopologyError, match="invalid_time"):
        TopologyBuilder("t").add_source("in", IN, event_time=value_of, invalid_time=wrong)


NOW = 1_800_000_000_000
HOUR, DAY, YEAR = 3_600_000, 86_400_000, 31_536_000_000


def at(task: OneTask, *stamps: int, wall_ms: int = NOW) -> Any:
    start = task.meta.next_offsets.get(TopicPartition("in", 0), 0)
    rows = [("k", number, stamp) for number, stamp in enumerate(stamps)]
    return task.run(queue_of(rows, offsets=range(start, start + len(rows))), wall_ms=wall_ms)


def test_time_too_far_in_future_fails_batch() -> None:
    with pytest.raises(EventTimeError, match="ahead of the wall clock") as caught:
        at(task_of(None), NOW, NOW + DAY + 1)
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("in", 0, 1)
    assert where.timestamp == NOW + DAY + 1
    assert "max_ahead" in caught.value.hint


@pytest.mark.parametrize("extract", [None, lambda record: record.timestamp])
def test_times_up_to_a_day_ahead_and_any_past_time_are_accepted(extract: Any) -> None:
    stamps = [NOW + DAY, 0, NOW - 30 * YEAR, NOW]
    assert times(at(task_of(extract), *stamps)) == stamps


@pytest.mark.parametrize("extract", [None, lambda record: record.timestamp])
def test_max_ahead_is_configured_for_each_source(extract: Any) -> None:
    task = task_of(extract, max_ahead=timedelta(hours=1), invalid_time="skip")
    output = at(task, NOW + HOUR, NOW + HOUR + 1, NOW + 5)
    assert (times(output), output.dropped) == ([NOW + HOUR, NOW + 5], {"too-far-ahead": 1})
    assert task.meta.stream_time == NOW + HOUR


def test_max_ahead_of_one_source_does_not_apply_to_another() -> None:
    builder = TopologyBuilder("t", on_error="skip")
    one = builder.add_source("in", IN, max_ahead=timedelta(0))
    two = builder.add_source("other", OTHER, max_ahead=None)
    builder.add_sink("out", OUT, builder.merge("both", one, two))
    rows = [("k", 1, NOW + 1)]
    output = OneTask(builder.build()).run(
        queue_of(rows), queue_of(rows, entry="other"), wall_ms=NOW
    )
    assert len(times(output)) == 1


def test_without_max_ahead_all_times_up_to_year_9999_are_accepted() -> None:
    task = task_of(None, max_ahead=None, invalid_time="skip")
    output = at(task, LATEST_MS, LATEST_MS + 1, (1 << 63) - 1, EARLIEST_MS, EARLIEST_MS - 1)
    assert times(output) == [LATEST_MS, EARLIEST_MS]
    assert output.dropped == {"too-far-ahead": 2, "no-event-time": 1}


def test_default_max_ahead_does_not_apply_without_wall_clock_time() -> None:
    assert times(at(task_of(None), NOW, wall_ms=0)) == [NOW]
    with pytest.raises(EventTimeError):
        at(task_of(None), LATEST_MS + 1, wall_ms=0)
    with pytest.raises(EventTimeError):
        at(task_of(None, max_ahead=timedelta(days=1)), NOW, wall_ms=0)


@pytest.mark.parametrize("extract", [None, lambda record: record.timestamp])
def test_time_too_far_in_future_is_replaced_by_time_of_partition(extract: Any) -> None:
    task = task_of(extract, invalid_time="partition-time")
    far = NOW + YEAR
    assert times(at(task, 7, far, 9, 3, far)) == [7, 7, 9, 3, 9]
    task.renew()
    assert times(at(task, far, 4)) == [9, 4]


def test_partition_without_valid_time_fails_record_with_future_time() -> None:
    with pytest.raises(EventTimeError):
        at(task_of(None, invalid_time="partition-time"), NOW + YEAR)


@pytest.mark.parametrize("policy", ["skip", DeadLetter("letters")])
def test_time_too_far_in_future_is_counted_and_becomes_dead_letter(policy: Any) -> None:
    task = task_of(None, on_error=policy)
    output = at(task, 1, NOW + YEAR, 2)
    kind = "skipped" if policy == "skip" else "dead-letter"
    assert (times(output), output.dropped) == ([1, 2], {f"{kind}-EventTimeError": 1})
    assert task.meta.stream_time == 2
    if policy != "skip":
        (letter,) = records(output.dead_letters["letters"], Topic("letters", BYTES, BYTES))
        assert letter.timestamp == NOW  # accepted by every broker
        assert (letter.key, letter.value) == (b"k", INT64.serialize(1))
        assert ("kstreams-error-timestamp", str(NOW + YEAR).encode()) in letter.headers


def test_saved_stream_time_above_maximum_is_reduced_to_it() -> None:
    task = task_of(None)
    task.meta.stream_time = (1 << 63) - 1
    task.saved = json.dumps(task.meta.to_json())
    task.renew()
    at(task, 5)
    assert task.meta.stream_time == LATEST_MS


def test_negative_max_ahead_is_rejected() -> None:
    with pytest.raises(ValueError, match="max_ahead"):
        TopologyBuilder("t").add_source("in", IN, max_ahead=timedelta(-1))
