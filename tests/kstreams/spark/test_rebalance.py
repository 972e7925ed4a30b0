"""Reported moves of tasks to other workers, and record and byte counts of topics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from kstreams.app import TaskMove
from kstreams.errors import ExecutionError
from kstreams.ids import TaskId
from tests.kstreams.spark.failing_processors import Trap
from tests.kstreams.spark.test_bad_input import BAD_PARTITION, GOOD, MORE, check
from tests.kstreams.spark.test_worker_deaths import DyingCount
from tests.support.spark.bench import TOTALS, WORDS, Bench, counting

_PATIENCE = timedelta(seconds=90)


@pytest.mark.spark
@pytest.mark.engines("spark", "embedded")  # an operator's task may return to an earlier process
def test_death_of_worker_moves_its_tasks_and_bytes_are_counted_once(bench: Bench) -> None:
    trap = Trap(bench.home / "trap", times=1)
    bench.create(WORDS)
    bench.emit(WORDS, GOOD)
    moves: list[tuple[TaskMove, ...]] = []
    topology = counting(lambda: DyingCount(trap, killed=True))
    with bench.app(topology) as app:
        app.on_rebalance(lambda found: moves.append(tuple(found)))
        app.open()
        app.drain(timeout=_PATIENCE)
        first = {move.task: move for each in moves for move in each}
        assert set(first) == {TaskId("words", partition) for partition in (0, 1)}
        assert {move.from_worker for move in first.values()} == {None}
        moves.clear()
        trap.arm()
        bench.emit(WORDS, MORE)
        app.drain(timeout=_PATIENCE)
    assert trap.sprung == 1
    moved = {move.task: move for each in moves for move in each}
    dead = moved[TaskId("words", BAD_PARTITION)]
    assert dead.from_worker == first[dead.task].to_worker
    assert dead.to_worker not in (None, dead.from_worker)
    assert moves == [report.moves for report in bench.reports if report.moves][1:]
    check(bench, GOOD + MORE)
    topics = bench.reports[-1].totals.topics
    raw = {topic.name: bench.raw(topic) for topic in (WORDS, TOTALS)}
    sizes = {
        name: (len(rows), sum(len(r.key or b"") + len(r.value or b"") for r in rows))
        for name, rows in raw.items()
    }
    words, totals = topics[WORDS.name], topics[TOTALS.name]
    assert (words.records_in, words.bytes_in) == sizes[WORDS.name]
    assert (totals.records_out, totals.bytes_out) == sizes[TOTALS.name]


@pytest.mark.spark
def test_failing_listener_stops_app(bench: Bench) -> None:
    def fails(moves: Sequence[TaskMove]) -> None:
        raise ValueError("no")

    bench.create(WORDS)
    bench.emit(WORDS, GOOD)
    app = bench.app(counting())
    app.on_rebalance(fails)
    with pytest.raises(ExecutionError, match="listener of on_rebalance raised ValueError: no"):
        app.run(until="end", timeout=_PATIENCE)
