"""Forecasts equal the counted requests, and those of the same input with another trigger."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.traffic import CountedObjects
from kstreams_forecast import restore_speed
from kstreams_forecast.app_forecast import Prices, app_restore_speed, forecast_app
from kstreams_forecast.forecasts import DAY_MS, QueryForecast, forecast_query, measured_commits
from kstreams_forecast.restore_speed import measured_speed
from tests.support.apps.stepped_app import ByHand
from tests.support.topologies import explained_topologies as made

PARTITIONS = {"events": 4}


def run(home: Path, batches: int, every: int) -> ByHand:
    """Write an event each second, in turn for three keys, and run a batch every few seconds."""
    app = ByHand(home, made.doubled(), partitions=PARTITIONS, retained_batches=1_000)
    second = 0
    for _ in range(batches):
        for _ in range(every):
            app.clock.advance(timedelta(seconds=1))
            app.emit(made.EVENTS, (f"key {second % 3}", second))
            second += 1
        app.run()
    return app


def forecast_of(app: ByHand, trigger_ms: int | None = None) -> QueryForecast:
    checkpoint = Checkpoint.load(app.settings.checkpoint)
    commits = measured_commits(checkpoint, "events", checkpoint.log.open())
    found = forecast_query("events", commits, trigger_ms=trigger_ms)
    assert found is not None
    return found


def puts_a_day(app: ByHand, seconds: int) -> float:
    """Return the puts of the driver and the tasks, per day, without the first batch."""
    (query,) = app.queries.values()
    counted = sum(report.log.puts for report in query.reports[1:])
    return counted * DAY_MS / (1_000 * seconds * len(query.reports[1:]))


@pytest.fixture(scope="module")
def each_second(tmp_path_factory: pytest.TempPathFactory) -> ByHand:
    return run(tmp_path_factory.mktemp("each"), 60, 1)


def test_forecast_of_day_equals_counted_put_requests(each_second: ByHand) -> None:
    found = forecast_of(each_second)
    assert (found.first, found.last, found.interval_ms) == (1, 59, 1_000)
    assert found.puts_a_day == pytest.approx(puts_a_day(each_second, 1), rel=0.2)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [2, 6])
def test_forecast_for_another_trigger_equals_its_counted_put_requests(
    each_second: ByHand, tmp_path: Path, seconds: int
) -> None:
    found = forecast_of(each_second, trigger_ms=1_000 * seconds)
    other = run(tmp_path, 30, seconds)
    assert found.puts_a_day == pytest.approx(puts_a_day(other, seconds), rel=0.2)
    assert found.puts_a_day < 0.9 * forecast_of(each_second).puts_a_day


def test_forecast_of_restore_equals_counted_read_requests(each_second: ByHand) -> None:
    found = forecast_of(each_second)
    checkpoint = Checkpoint.load(each_second.settings.checkpoint)
    last = measured_commits(checkpoint, "events", checkpoint.log.open())[-1]
    counted = CountedObjects(checkpoint.log.open())
    for task, pointer in last.pointers().items():
        key = checkpoint.task_key("events", task)
        DurableLog(counted, key).restore(pointer, MemoryStore(pointer.stores))
        if pointer.deltas:
            assert measured_speed(pointer, key, counted) is not None
            counted.take()
            DurableLog(counted, key).restore(pointer, MemoryStore(pointer.stores))
            (own,) = [each for each in found.tasks if each.task == task]
            traffic = counted.take()
            assert (traffic.gets, traffic.get_bytes) == (own.objects, own.size_bytes)
    assert found.state_bytes == sum(task.size_bytes for task in found.tasks) > 0


class Distant(CountedObjects):
    """A log whose objects arrive at a given speed, by a separate clock."""

    seconds = 0.0

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Return the object, and advance the clock by its size."""
        data = super().get(name, start, length)
        self.seconds += len(data) / 1_000_000
        return data


@pytest.mark.long
def test_forecast_restore_time_depends_on_log_speed_and_costs_on_prices(
    each_second: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint.load(each_second.settings.checkpoint)
    distant = Distant(checkpoint.log.open())
    clock = SimpleNamespace(perf_counter=lambda: distant.seconds)
    monkeypatch.setattr(restore_speed, "time", clock)
    prices = Prices(puts=2.0, storage=60.0)
    speed = app_restore_speed(checkpoint, distant)
    found = forecast_app(checkpoint, distant, prices=prices, speed=speed)
    last = measured_commits(checkpoint, "events", distant)[-1]
    for task in found.tasks:
        begun = distant.seconds
        pointer = last.pointers()[task.task]
        own = DurableLog(distant, checkpoint.task_key("events", task.task))
        own.restore(pointer, MemoryStore(pointer.stores))
        assert found.restore_seconds(task) == pytest.approx(distant.seconds - begun, rel=0.2)
    (query,) = found.queries
    assert found.puts_dollars_a_day == pytest.approx(query.puts_a_day * 0.002)
    stored = sum(task.size_bytes for task in found.tasks)
    assert found.storage_dollars_a_day == pytest.approx(stored / 1e9 * 2)


def test_forecast_with_fewer_than_two_commits_is_refused(tmp_path: Path) -> None:
    app = ByHand(tmp_path, made.doubled(), partitions=PARTITIONS)
    app.emit(made.EVENTS, ("a", 1))
    app.run()
    checkpoint = Checkpoint.load(app.settings.checkpoint)
    commits = measured_commits(checkpoint, "events", checkpoint.log.open())
    assert forecast_query("events", commits) is None
    assert forecast_query("events", []) is None
