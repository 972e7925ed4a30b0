"""Idle timeout: stream time advances by the wall clock while a task has no records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kstreams import INT64, TEXT, Processor, ProcessorContext, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds, seconds
from kstreams.emit import every, on_close
from kstreams.processors import PunctuationType
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.window.kind import window_store
from kstreams.topology import wall_clock
from kstreams.windows import SessionWindows, TumblingWindows, windowed, windowed_aggregate
from kstreams_testing.driver import TopologyTestDriver
from tests.support.apps.one_task import IN, OUT, OneTask, queue_of, values


class Ticks(Processor[str, int, str, int]):
    """Forwards the stream times of a punctuator."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self.tick)

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", now, now))

    def process(self, record: Record[str, int]) -> None:
        pass


def ticking(timeout_ms: int | None) -> OneTask:
    timeout = None if timeout_ms is None else milliseconds(timeout_ms)
    builder = TopologyBuilder("t", idle_timeout=timeout)
    ticks = builder.add_processor("ticks", Ticks, builder.add_source("in", IN))
    builder.add_sink("out", OUT, ticks)
    return OneTask(builder.build())


def called(task: OneTask, wall_ms: int, since_ms: int = 0) -> list[int]:
    """Run a task without records; return the punctuations."""
    output = task.task.run((), wall_ms=wall_ms, idle_since_ms=since_ms)
    task.base.write(task.overlay.changes())
    task.overlay.committed()
    return values(output)


def test_stream_time_advances_after_idle_timeout() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    assert called(task, 1099) == []
    assert task.meta.stream_time == 5
    assert called(task, 1100) == [105]
    assert called(task, 1150) == []
    assert called(task, 1230) == [235]


def test_task_requests_call_at_end_of_idle_timeout() -> None:
    task = ticking(100)
    assert task.task.run((), wall_ms=900).next_wall_due is None  # no stream time to advance
    assert task.run(queue_of([("k", 1, 5)]), wall_ms=1000).next_wall_due == 1100
    assert task.task.run((), wall_ms=1040).next_wall_due == 1100
    assert task.task.run((), wall_ms=1130).next_wall_due == 1230


def test_new_records_restart_idle_timeout() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    task.run(queue_of([("k", 1, 6)], offsets=[1]), wall_ms=1500)
    assert task.meta.stream_time == 6
    assert called(task, 1599) == []
    assert called(task, 1600) == [106]


def test_time_without_running_app_does_not_count_as_idle() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    assert called(task, 9000, since_ms=8950) == []
    assert task.task.run((), wall_ms=9000, idle_since_ms=8950).next_wall_due == 9050
    assert called(task, 9060, since_ms=8950) == [115]


def test_clock_set_back_restarts_idle_timeout() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    assert called(task, 500) == []
    assert called(task, 600) == [105]


def test_stream_time_without_idle_timeout_does_not_advance() -> None:
    task = ticking(None)
    output = task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    assert output.next_wall_due is None
    assert called(task, 10**9) == []
    assert "heard" not in task.meta.to_json()


def test_idle_timeout_survives_restart() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    task.renew()
    assert called(task, 1120) == [125]


def test_retried_attempt_after_idle_timeout_gives_same_result() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    saved, found = task.saved, []
    for _ in range(2):
        task.saved = saved
        task.renew()
        found.append((called(task, 1170), task.meta.to_json()))
    assert found[0] == found[1]


def windows_driver(windows: Any, emit: Any, execution: Any, **options: Any) -> Any:
    builder = TopologyBuilder("t", idle_timeout=seconds(1))
    make: Any = session_store if isinstance(windows, SessionWindows) else window_store
    store = make("counts", key=TEXT, value=INT64)
    supplier: Any = windowed_aggregate(
        windows, count(), store=store, emit=emit, execution=execution
    )
    counted: Any = builder.add_processor("c", supplier, builder.add_source("in", IN, **options))
    sink: Any = Topic("out", windowed(TEXT, windows), INT64)
    builder.add_sink("out", sink, counted)
    return TopologyTestDriver(builder.build(), partitions=2, recreate_processors=True), sink


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize("windows", [TumblingWindows(seconds(10)), SessionWindows(seconds(5))])
def test_last_windows_of_quiet_stream_close(windows: Any, execution: Any) -> None:
    driver, sink = windows_driver(windows, on_close(), execution)
    with driver:
        for key in "abcd":
            driver.pipe(IN, key, 1, timestamp=4000)
        driver.advance_wall_clock(seconds(3))
        assert driver.read(sink) == []
        driver.advance_wall_clock(seconds(4))
        assert sorted((r.key.key, r.value) for r in driver.read(sink)) == [
            (key, 1) for key in "abcd"
        ]
        driver.advance_wall_clock(seconds(30))
        assert driver.read(sink) == []


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_result_buffered_until_end_of_interval_is_forwarded_on_quiet_stream(execution: Any) -> None:
    driver, sink = windows_driver(TumblingWindows(seconds(60)), every(seconds(10)), execution)
    with driver:
        driver.pipe(IN, "a", 1, timestamp=0)
        driver.pipe(IN, "a", 1, timestamp=4000)
        driver.advance_wall_clock(seconds(6))
        assert [r.value for r in driver.read(sink)] == [2]


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_windows_of_processing_time_close_by_wall_clock(execution: Any) -> None:
    windows = TumblingWindows(seconds(10))
    driver, sink = windows_driver(windows, on_close(), execution, event_time=wall_clock())
    with driver:
        driver.pipe(IN, "a", 1, timestamp=77)
        driver.advance_wall_clock(seconds(9))
        driver.pipe(IN, "a", 1, timestamp=5)
        driver.advance_wall_clock(seconds(1))
        (result,) = driver.read(sink)
        assert (result.key.start_ms, result.value, result.timestamp) == (0, 2, 9000)


def test_idle_timeout_must_be_positive() -> None:
    with pytest.raises(ValueError, match="idle_timeout"):
        TopologyBuilder("t", idle_timeout=milliseconds(0))


YEARS = timedelta(days=3653)


@pytest.mark.parametrize("execution", ["records", "columns"])
def test_temporary_clock_jump_makes_no_record_late(execution: Any) -> None:
    driver, sink = windows_driver(TumblingWindows(seconds(10)), on_close(), execution)
    with driver:
        driver.pipe(IN, "a", 1, timestamp=4000)
        driver.clock.jump(YEARS)
        driver.advance_wall_clock(seconds(0))
        driver.clock.jump(-YEARS)
        driver.advance_wall_clock(seconds(0))
        driver.pipe(IN, "a", 1, timestamp=5000)
        assert driver.dropped == {}
        driver.advance_wall_clock(seconds(5))
        assert [r.value for r in driver.read(sink)] == [2]


def test_clock_jump_does_not_count_as_idle_and_later_time_does() -> None:
    task = ticking(100)
    task.run(queue_of([("k", 1, 5)]), wall_ms=1000)
    ahead = 10**12
    assert called(task, ahead, since_ms=ahead) == []
    assert called(task, ahead + 150, since_ms=ahead) == [155]
