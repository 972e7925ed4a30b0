"""Event times: from an extractor or the wall clock, with a policy for what has none."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, TopologyError, wall_clock
from kstreams.aggregators import count
from kstreams.errors import ProcessingError
from kstreams.processors.on_error import DeadLetter
from kstreams.state.window_store import window_store
from kstreams.testing.driver import TopologyTestDriver
from kstreams.windows import TumblingWindows, milliseconds, windowed, windowed_aggregate
from tests.kstreams.task.harness import IN, OUT, OneTask, queue_of, records

OTHER: Topic[str, int] = Topic("other", TEXT, INT64)
WINDOWS = TumblingWindows(milliseconds(10))


def value_of(record: Record[str, int]) -> int | None:
    """Take the value as the time; 99 stands for none."""
    return None if record.value == 99 else record.value


def task_of(extract: Any, **options: Any) -> OneTask:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN, event_time=extract, **options)
    builder.add_sink("out", OUT, source)
    return OneTask(builder.build())


def run(task: OneTask, *values: int | bytes, wall_ms: int = 0) -> Any:
    start = task.meta.next_offsets.get("in/0", 0)
    rows = [("k", value, 1000) for value in values]
    queue = queue_of(rows, offsets=range(start, start + len(rows)))
    return task.run(queue, wall_ms=wall_ms)


def times(output: Any) -> list[int]:
    return [record.timestamp for record in records(output.sinks.get("out"))]


def test_everything_behind_the_source_has_the_extracted_time() -> None:
    task = task_of(value_of)
    assert times(run(task, 7, 3)) == [7, 3]
    assert task.meta.stream_time == 7


def test_an_extractor_sees_the_record_as_it_came() -> None:
    seen: list[Record[str, int]] = []

    def extract(record: Record[str, int]) -> datetime:
        seen.append(record)
        return datetime.fromtimestamp(5, timezone.utc)

    task = task_of(extract)
    output = task.run(queue_of([("k", 1, 9), ("k", 2, 9)], headers=[(("h", b"1"),), ()]))
    assert times(output) == [5000, 5000]
    assert seen == [Record("k", 1, 9, (("h", b"1"),)), Record("k", 2, 9)]


@pytest.mark.parametrize("missing", [99, -5])
def test_a_record_without_a_time_fails_the_batch(missing: int) -> None:
    with pytest.raises(ProcessingError, match="no event time") as caught:
        run(task_of(value_of), 7, missing)
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("in", 0, 1)
    assert "invalid_time" in caught.value.hint


@pytest.mark.parametrize("missing", [99, -5])
def test_a_record_without_a_time_is_skipped_and_counted(missing: int) -> None:
    output = run(task_of(value_of, invalid_time="skip"), 7, missing, 8)
    assert (times(output), output.dropped) == ([7, 8], {"no-event-time": 1})


@pytest.mark.parametrize("missing", [99, -5])
def test_a_record_without_a_time_gets_that_of_its_partition(missing: int) -> None:
    task = task_of(value_of, invalid_time="partition-time")
    assert times(run(task, 7, 3, missing)) == [7, 3, 7]
    task.renew()
    assert times(run(task, missing, 9, missing)) == [7, 9, 9]


def test_each_partition_has_its_own_time() -> None:
    task = task_of(value_of, invalid_time="partition-time")
    one, two = queue_of([("k", 7, 0)]), queue_of([("k", 4, 0), ("k", 99, 0)], partition=1)
    assert sorted(times(task.run(one, two))) == [4, 4, 7]


def test_a_partition_that_never_had_a_time_has_none_to_give() -> None:
    with pytest.raises(ProcessingError, match="no event time"):
        run(task_of(value_of, invalid_time="partition-time"), 99)


@pytest.mark.parametrize("policy", ["skip", DeadLetter("letters")])
def test_an_extractor_that_fails_is_the_sources_to_deal_with(policy: Any) -> None:
    def extract(record: Record[str, int]) -> int:
        if record.value == 13:
            raise ValueError("unlucky")
        return record.value

    output = run(task_of(extract, on_error=policy), 7, 13, 8)
    kind = "skipped" if policy == "skip" else "dead-letter"
    assert (times(output), output.dropped) == ([7, 8], {f"{kind}-ProcessingError": 1})
    assert bool(output.dead_letters) == (policy != "skip")


@pytest.mark.parametrize("wrong", [1.5, 1 << 63, datetime(2020, 1, 1)])
def test_a_time_of_another_kind_is_a_failure(wrong: Any) -> None:
    with pytest.raises(ProcessingError):
        run(task_of(lambda _: wrong), 1)


def test_a_record_that_does_not_decode_is_dealt_with_in_its_turn() -> None:
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


def test_the_wall_clock_is_the_batchs_recorded_one() -> None:
    task = task_of(wall_clock())
    assert times(run(task, 1, 2, wall_ms=40)) == [40, 40]
    assert times(run(task, 3, wall_ms=50)) == [50]
    assert task.meta.stream_time == 50


@pytest.mark.parametrize("path", ["record", "vector"])
@pytest.mark.parametrize("extract", [value_of, wall_clock()], ids=["extractor", "wall-clock"])
def test_windows_are_those_of_the_event_time(path: Any, extract: Any) -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN, event_time=extract)
    store = window_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor(
        "counts", windowed_aggregate(WINDOWS, count(), store=store, path=path), source
    )
    sink: Any = Topic("out", windowed(TEXT, WINDOWS), INT64)
    builder.add_sink("out", sink, counted)
    with TopologyTestDriver(builder.build(), start=25) as driver:
        driver.pipe_batch(IN, [Record("k", value, 1000) for value in (21, 29, 27)])
        (result,) = driver.read(sink)
    assert (result.key.start_ms, result.value) == (20, 3)
    assert result.timestamp == (29 if extract is value_of else 25)


def test_a_policy_that_does_not_exist_is_refused() -> None:
    wrong: Any = "ignore"
    with pytest.raises(TopologyError, match="invalid_time"):
        TopologyBuilder("t").add_source("in", IN, event_time=value_of, invalid_time=wrong)
