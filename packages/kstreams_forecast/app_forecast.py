"""Forecast the cost, growth and restore times of an app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit
from kstreams_forecast.forecasts import (
    QueryForecast,
    RestoredTask,
    forecast_query,
    measured_commits,
)
from kstreams_forecast.restore_speed import MOST_BYTES, measured_speed

__all__ = ("AppForecast", "Prices", "app_restore_speed", "forecast_app")

_MONTH_DAYS = 30
_GB = 1e9


@dataclass(frozen=True)
class Prices:
    """Prices of an object storage, by default those of S3 in us-east-1.

    Attributes:
        puts: Dollars for 1,000 PUT requests.
        storage: Dollars for storing a GB for a month.
    """

    puts: float = 0.005
    storage: float = 0.023


@dataclass(frozen=True)
class AppForecast:
    """The forecast of an app, for the command line and the page.

    Attributes:
        app: The app id.
        queries: The forecasts of the queries with enough commits.
        lacking: Names of the queries with fewer than two retained commits, or no time between them.
        prices: The prices of the storage.
        speed: Bytes of the log that this machine restores per second; None if not measured.
    """

    app: str
    queries: tuple[QueryForecast, ...]
    lacking: tuple[str, ...]
    prices: Prices
    speed: float | None = None

    @property
    def puts_dollars_a_day(self) -> float:
        """Cost of the PUT requests per day, in dollars."""
        return sum(each.puts_a_day for each in self.queries) / 1000 * self.prices.puts

    @property
    def storage_dollars_a_day(self) -> float:
        """Cost of storing the current state for a day, in dollars."""
        stored = sum(each.state_bytes for each in self.queries)
        return stored / _GB * self.prices.storage / _MONTH_DAYS

    @property
    def tasks(self) -> Sequence[RestoredTask]:
        """The tasks with the size of their restore, largest first."""
        every = (task for each in self.queries for task in each.tasks)
        return sorted(every, key=lambda task: (-task.size_bytes, task.task))

    def restore_seconds(self, task: RestoredTask) -> float | None:
        """Return the duration of a task's restore, s; None if the speed is not known."""
        return None if self.speed is None else task.size_bytes / self.speed

    def to_json(self) -> dict[str, object]:
        """Return the forecast as JSON data, as printed by `kstreams forecast --json`."""
        return {
            "app": self.app,
            "queries": [self._query(each) for each in self.queries],
            "restore_bytes_a_second": self.speed,
            "dollars_a_day": {
                "puts_a_day": self.puts_dollars_a_day,
                "storage_a_day": self.storage_dollars_a_day,
            },
        }

    def _query(self, each: QueryForecast) -> dict[str, object]:
        return {
            "query": each.query,
            "first_batch": each.first,
            "last_batch": each.last,
            "span_ms": each.span_ms,
            "interval_ms": each.interval_ms,
            "puts_a_batch": each.puts,
            "puts_a_day": each.puts_a_day,
            "put_bytes_a_day": each.put_bytes_a_day,
            "growth_bytes_a_day": each.growth_bytes_a_day,
            "state_bytes": each.state_bytes,
            "tasks": [
                {
                    "task": str(task.task),
                    "objects": task.objects,
                    "bytes": task.size_bytes,
                    "restore_seconds": self.restore_seconds(task),
                }
                for task in each.tasks
            ],
        }


def forecast_app(
    checkpoint: Checkpoint,
    objects: ObjectStore,
    *,
    trigger_ms: int | None = None,
    prices: Prices | None = None,
    speed: float | None = None,
) -> AppForecast:
    """Forecast a day of an app from its retained commits: see `forecast_query`.

    Args:
        checkpoint: The checkpoint of the app.
        objects: The durable log of the app.
        trigger_ms: The trigger, ms; None for the measured interval.
        prices: The prices of the storage.
        speed: The result of `app_restore_speed`; None if it was not measured.

    Raises:
        LogMismatchError: The log belongs to another app.
        StateCorruptError: A commit cannot be read.
    """
    plans_too = checkpoint.home.directory is None
    found = {
        query: forecast_query(query, commits, trigger_ms=trigger_ms, plans_too=plans_too)
        for query, commits in _commits(checkpoint, objects).items()
    }
    return AppForecast(
        checkpoint.app,
        tuple(each for each in found.values() if each is not None),
        tuple(query for query, each in found.items() if each is None),
        prices or Prices(),
        speed,
    )


def app_restore_speed(
    checkpoint: Checkpoint, objects: ObjectStore, most_bytes: int = MOST_BYTES
) -> float | None:
    """Restore the largest task within a size limit, and return its bytes per second.

    Args:
        checkpoint: The checkpoint of the app.
        objects: The durable log of the app.
        most_bytes: Maximum size of the task, which is restored into memory.

    Returns:
        Bytes per second; None if no task has state within the limit, or the version of the task was
        deleted meanwhile.
    """
    sized = [
        (pointer.snapshot_bytes + pointer.delta_bytes, query, task, pointer)
        for query, own in _commits(checkpoint, objects).items()
        if own
        for task, pointer in own[-1].pointers().items()
    ]
    fitting = [each for each in sized if 0 < each[0] <= most_bytes]
    if not fitting:
        return None
    _, query, task, pointer = max(fitting, key=lambda each: each[:3])
    return measured_speed(pointer, checkpoint.task_key(query, task), objects)


def _commits(checkpoint: Checkpoint, objects: ObjectStore) -> Mapping[str, Sequence[Commit]]:
    return {
        query: measured_commits(checkpoint, query, objects) for query in sorted(checkpoint.queries)
    }
