"""A batch calls tasks whose wall-clock timers are due, and all tasks after a clock change."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, filter_
from kstreams.batch.task_timers import TaskTimers
from kstreams.clock import FakeClock, WatchedClock
from kstreams.ids import TaskId

EVERYONE = [(0, 0), (0, 1)]
FIRST, SECOND = TaskId("words", 0), TaskId("words", 1)


class Query:
    """Two tasks of one stage that were called once."""

    def __init__(self) -> None:
        builder = TopologyBuilder("app")
        words = builder.add_source("words", Topic("words", TEXT, INT64))
        builder.add_processor("keep", filter_(lambda _, __: True), words)
        self.clock = FakeClock(1_000)
        self._watched = WatchedClock(self.clock)
        self.timers = TaskTimers(builder.build().pipelines()[0], (2,), self._watched, None)
        assert self.called() == EVERYONE  # before the first commit, due times are unknown

    def called(self, *, everyone: bool = False) -> list[tuple[int, int]]:
        return self.timers.called(self._watched.now_ms(), everyone=everyone)


@pytest.fixture
def query() -> Query:
    return Query()


def test_task_timers_call_task_while_its_timer_is_due(query: Query) -> None:
    query.timers.note(SECOND, 1_500)
    assert query.called() == []
    assert not query.timers.due(1_499)
    query.clock.advance(timedelta(milliseconds=500))
    assert query.timers.due(1_500)
    assert query.called() == query.called() == [(0, 1)]
    query.timers.note(SECOND, None)
    assert query.called() == []


def test_called_returns_all_tasks_if_everyone_is_true_and_none_at_next_call(query: Query) -> None:
    assert query.called(everyone=True) == EVERYONE
    assert query.called() == []


@pytest.mark.parametrize("hours", [3, -3], ids=["ahead", "back"])
def test_all_tasks_are_called_once_after_clock_jump(query: Query, hours: int) -> None:
    query.timers.note(FIRST, 10**12)
    query.clock.jump(timedelta(hours=hours))
    assert query.called() == EVERYONE
    assert query.called() == []
