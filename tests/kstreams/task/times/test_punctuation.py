"""Punctuators: aligned to a grid, called once after a jump, restored after a restart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import Processor, ProcessorContext, Record, Topology, TopologyBuilder
from kstreams.errors import ProcessingError, TopologyError
from kstreams.ids import TopicPartition
from kstreams.processors import PunctuationType
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.times import LATEST_MS
from tests.support.apps.one_task import IN, OUT, Calls, OneTask, calls, one_node, queue_of, values

STREAM, WALL = PunctuationType.STREAM_TIME, PunctuationType.WALL_CLOCK_TIME


class Ticks(Processor[str, int, str, int]):
    """Forwards the time of each punctuation under its own name, and each record."""

    def __init__(self, *schedules: tuple[str | None, int, PunctuationType]) -> None:
        self.schedules = schedules

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        self.handles = {
            name: context.schedule(timedelta(milliseconds=span), kind, self.tick(name), name=name)
            for name, span, kind in self.schedules
        }

    def tick(self, name: str | None) -> Callable[[int], None]:
        return lambda now: self.context.forward(Record(f"{name}@{now}", -1, now))

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)
        if record.key in self.handles:
            self.handles[record.key].cancel()


def ticks(*schedules: tuple[str | None, int, PunctuationType]) -> Topology:
    return one_node(lambda: Ticks(*schedules))


def keys(task: OneTask, *times: int | tuple[str, int], wall_ms: int = 0) -> list[str]:
    """Run a batch of records with these times; return the forwarded keys."""
    rows = [(t[0], 1, t[1]) if isinstance(t, tuple) else (str(t), 1, t) for t in times]
    output = task.run(queue_of(rows, offsets=_offsets(task, len(rows))), wall_ms=wall_ms)
    table = output.sinks.get("out")
    return [] if table is None else [k.decode() for k in table.column("key").to_pylist()]


def _offsets(task: OneTask, count: int) -> range:
    start = task.meta.next_offsets.get(TopicPartition("in", 0), 0)
    return range(start, start + count)


def test_stream_time_punctuator_fires_at_multiples_of_interval_and_once_after_jump() -> None:
    found = keys(OneTask(ticks(("t", 10, STREAM))), 3, 9, 10, 12, 47, 49, 50, 41, 60)
    assert found == [
        "3", "t@3", "9", "10", "t@10", "12", "47", "t@47", "49", "50", "t@50", "41", "60", "t@60"
    ]  # fmt: skip


@pytest.mark.parametrize("cut", range(1, 6))
@pytest.mark.parametrize("restart", [False, True])
def test_stream_time_punctuations_do_not_depend_on_batches(cut: int, restart: bool) -> None:
    times = [0, 12, 11, 35, 36, 70]
    task = OneTask(ticks(("t", 10, STREAM), (None, 25, STREAM)))
    found = keys(task, *times[:cut])
    if restart:
        task.renew()
    found += keys(task, *times[cut:])
    whole = keys(OneTask(ticks(("t", 10, STREAM), (None, 25, STREAM))), *times)
    assert found == whole
    assert whole[:3] == ["0", "t@0", "None@0"]


def test_punctuators_due_together_fire_by_due_time_and_order_of_scheduling() -> None:
    task = OneTask(ticks(("a", 30, STREAM), ("b", 10, STREAM), ("c", 30, STREAM)))
    assert keys(task, 0, 65) == ["0", "a@0", "b@0", "c@0", "65", "b@65", "a@65", "c@65"]


def test_wall_clock_punctuator_fires_first_one_interval_after_start_and_then_periodically() -> None:
    task = OneTask(ticks(("w", 100, WALL)), wall_ms=1_005)
    assert keys(task, wall_ms=1_005) == []
    assert keys(task, 5, wall_ms=1_104) == ["5"]
    assert keys(task, 6, wall_ms=1_105) == ["6", "w@1105"]
    assert keys(task, wall_ms=1_199) == []
    assert keys(task, wall_ms=1_450) == ["w@1450"]
    assert keys(task, wall_ms=1_504) == []
    assert keys(task, wall_ms=1_505) == ["w@1505"]


def test_task_output_has_next_wall_clock_due_time() -> None:
    task = OneTask(ticks(("w", 100, WALL), ("v", 70, WALL), ("s", 5, STREAM)), wall_ms=10)
    assert task.run(wall_ms=10).next_wall_due == 80
    assert task.run(wall_ms=80).next_wall_due == 110
    assert OneTask(ticks(("s", 5, STREAM))).run().next_wall_due is None


def test_due_times_and_cancellations_survive_restart() -> None:
    task = OneTask(ticks(("a", 10, STREAM), ("w", 100, WALL), ("b", 10, STREAM)), wall_ms=1_000)
    assert keys(task, ("a", 15), wall_ms=1_000) == ["a", "b@15"]
    task.renew(wall_ms=5_000)
    assert task.meta == TaskMeta(
        15, {TopicPartition("in", 0): 1}, {"node/a": -1, "node/w": 1_100, "node/b": 20}
    )
    assert keys(task, 33, wall_ms=1_100) == ["33", "b@33", "w@1100"]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (100, 10, ["119", "120", "t@120", "141", "t@141"]),
        (30, 25, ["119", "t@119", "120", "141", "t@141"]),
    ],
    ids=["shorter", "another-grid"],
)
def test_punctuator_with_changed_interval_fires_on_multiples_of_new_interval(
    before: int, now: int, expected: list[str]
) -> None:
    task = OneTask(ticks(("t", before, STREAM)))
    assert keys(task, 100, 115)[-1] == "115"  # due at 200, or at 120
    task.group = ticks(("t", now, STREAM)).groups[0]
    task.renew()
    assert keys(task, 119, 120, 141) == expected


def test_due_punctuator_cancelled_by_another_does_not_fire() -> None:
    class Cancels(Calls):
        def init(self, context: ProcessorContext[Any, Any]) -> None:
            super().init(context)
            later = context.schedule(timedelta(milliseconds=10), STREAM, self.fail, name="later")
            context.schedule(timedelta(milliseconds=5), STREAM, lambda _: later.cancel())

        def fail(self, now: int) -> None:
            raise AssertionError(now)

    task = OneTask(one_node(Cancels))
    with pytest.raises(ProcessingError):
        keys(task, 3)
    task.renew()
    task.meta.due.update({"node/later": 10, "node/0": 5})
    assert keys(task, 12) == ["12"]


def test_failing_punctuator_fails_batch_and_names_its_node() -> None:
    class Fails(Calls):
        def init(self, context: ProcessorContext[Any, Any]) -> None:
            super().init(context)
            context.schedule(timedelta(milliseconds=1), STREAM, self.fail)

        def fail(self, now: int) -> None:
            raise ArithmeticError(now)

    for on_error in ("fail", "skip"):
        with pytest.raises(ProcessingError) as caught:
            OneTask(one_node(Fails, on_error=on_error)).run(queue_of([("a", 1, 5)]))
        assert (caught.value.where.node, caught.value.where.offset) == ("node", None)


def scheduling(
    in_init: Callable[[Any], object] | None, later: Callable[[Any], object] | None
) -> type[Calls]:
    class Schedules(Calls):
        def init(self, context: ProcessorContext[Any, Any]) -> None:
            super().init(context)
            if in_init is not None:
                in_init(context)

        def process(self, record: Record[Any, Any]) -> None:
            if later is not None:
                later(self.context)

    return Schedules


def schedule(span: timedelta, name: str | None = None) -> Callable[[Any], object]:
    return lambda context: context.schedule(span, STREAM, lambda _: None, name=name)


def both(*calls: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda context: [call(context) for call in calls]


_SPAN = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (scheduling(None, schedule(_SPAN)), "calls schedule outside init"),
        (scheduling(schedule(timedelta(microseconds=999)), None), "expected 1 ms or more"),
        (scheduling(schedule(-_SPAN), None), "expected 1 ms or more"),
        (scheduling(both(schedule(_SPAN, "a"), schedule(_SPAN, "a")), None), "two punctuators"),
        (scheduling(both(schedule(_SPAN), schedule(_SPAN, "0")), None), "two punctuators"),
    ],
    ids=["outside init", "too short", "negative", "equal names", "a name like a number"],
)
def test_invalid_punctuator_schedules_are_rejected(node: Callable[[], Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message) as caught:
        OneTask(one_node(node)).run(queue_of([("a", 1, 5)]))
    assert caught.value.where.node == "node"


def test_context_has_times_and_metadata_of_record() -> None:
    seen: list[Any] = []

    class Looks(Ticks):
        def init(self, context: ProcessorContext[str, int]) -> None:
            super().init(context)
            seen.append((context.stream_time, context.wall_time, context.metadata))

        def tick(self, name: str | None) -> Callable[[int], None]:
            return lambda now: seen.append((self.context.stream_time, self.context.metadata))

        def process(self, record: Record[str, int]) -> None:
            at = self.context.metadata
            assert at is not None
            seen.append((self.context.stream_time, at.partition, at.offset, at.headers))

    task = OneTask(one_node(lambda: Looks(("t", 10, STREAM))), wall_ms=7)
    headers: Any = [(), (("h", b"1"),), ()]
    rows = [("a", 1, 8), ("b", 1, 3), ("c", 1, 11)]
    task.run(queue_of(rows, partition=4, offsets=[3, 5, 6], headers=headers), wall_ms=9)
    assert seen == [
        (-1, 7, None),
        (8, 4, 3, ()), (8, None), (8, 4, 5, (("h", b"1"),)), (11, 4, 6, ()), (11, None),
    ]  # fmt: skip


def test_records_of_two_sources_are_merged_by_time_with_their_metadata() -> None:
    seen: list[Any] = []

    def look(context: Any, record: Record[Any, Any]) -> None:
        at = context.metadata
        seen.append((record.timestamp, at.topic, at.partition, at.offset, context.stream_time))

    builder = TopologyBuilder("t")
    left = builder.add_source("in", IN)
    right = builder.add_source("other", type(IN)("other", IN.key, IN.value))
    node = builder.add_processor("node", calls(look), left, right)
    builder.add_sink("out", OUT, node)
    output = OneTask(builder.build()).run(
        queue_of([("a", 1, 5), ("b", 2, 9)], entry="other", offsets=[7, 8]),
        queue_of([("c", 3, 5), ("d", 4, 2), ("e", 5, 7)]),
    )
    assert seen == [
        (5, "in", 0, 0, 5), (2, "in", 0, 1, 5), (5, "other", 0, 7, 5),
        (7, "in", 0, 2, 7), (9, "other", 0, 8, 9),
    ]  # fmt: skip
    assert values(output) == [3, 4, 1, 5, 2]


TEN_YEARS = 315_619_200_000


def test_wall_clock_that_was_ten_years_ahead_does_not_disable_punctuator() -> None:
    task = OneTask(ticks(("w", 100, WALL)), wall_ms=1_005)
    assert keys(task, wall_ms=1_105 + TEN_YEARS) == [f"w@{1_105 + TEN_YEARS}"]
    task.renew(wall_ms=1_110)
    assert task.run(wall_ms=1_110).next_wall_due == 1_205  # on the previous grid
    assert keys(task, wall_ms=1_204) == []
    assert keys(task, wall_ms=1_205) == ["w@1205"]


def test_app_started_with_clock_ahead_continues_after_clock_is_corrected() -> None:
    task = OneTask(ticks(("w", 100, WALL)), wall_ms=TEN_YEARS)
    task.run(wall_ms=TEN_YEARS)
    assert task.run(wall_ms=50).next_wall_due is not None
    assert len(keys(task, wall_ms=150)) == 1


def test_cancelled_punctuator_stays_cancelled_after_clock_is_set_back() -> None:
    task = OneTask(ticks(("w", 100, WALL)), wall_ms=TEN_YEARS)
    keys(task, ("w", 1), wall_ms=TEN_YEARS)
    assert task.run(wall_ms=10).next_wall_due is None
    assert keys(task, wall_ms=2 * TEN_YEARS) == []


@pytest.mark.parametrize("kind", [STREAM, WALL])
def test_punctuator_is_called_once_after_time_jump_of_ten_thousand_years(
    kind: PunctuationType,
) -> None:
    task = OneTask(ticks(("t", 1, kind)))
    far = LATEST_MS
    found = keys(task, far, wall_ms=far)
    assert [key for key in found if key.startswith("t@")] == [f"t@{far}"]
    assert task.meta.due["node/t"] == far + 1
