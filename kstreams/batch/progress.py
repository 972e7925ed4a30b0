"""The activity of a query, and the durations of a batch's phases."""

from __future__ import annotations

import threading
import time
from typing import Final, NamedTuple

from kstreams.clock import Clock

__all__ = (
    "BATCH_PHASES",
    "COMMIT",
    "JOB",
    "PLAN",
    "PUBLISH",
    "WAIT",
    "BatchProgress",
    "BatchTimes",
    "Doing",
)

WAIT: Final = "wait"
"""The query waits for records, for the trigger, or for the user's `on_batch`."""
PLAN: Final = "plan"
"""The input of the batch is planned, and the plan is stored."""
JOB: Final = "job"
"""Workers run the tasks of the batch."""
COMMIT: Final = "commit"
"""The batch is written to the durable log."""
PUBLISH: Final = "publish"
"""Committed output is published."""

BATCH_PHASES: Final = (WAIT, PLAN, JOB, COMMIT, PUBLISH)
"""All phases of a batch, in order."""


class Doing(NamedTuple):
    """The current activity of a query.

    Attributes:
        batch: The number of the current batch, or between batches of the last one; None before the
            first batch.
        phase: One of `BATCH_PHASES`.
        since_ms: The start of the phase, ms since the epoch.
    """

    batch: int | None
    phase: str
    since_ms: int


class BatchTimes(NamedTuple):
    """The durations of a batch's phases.

    Attributes:
        seconds: The seconds by phase.
        jobs: The number of Spark jobs.
    """

    seconds: dict[str, float]
    jobs: int


class BatchProgress:
    """Tracks the phases of one query. Any thread may read its activity.

    If a batch is planned during the previous commit, its planning time is counted, too, without
    waiting time.

    Args:
        clock: The clock of the app.

    Attributes:
        doing: The current activity.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mutex = threading.Lock()
        self._entered = self._began = time.perf_counter()
        self._seconds: dict[str, float] = {}
        self._plans: dict[int, float] = {}
        self._jobs = 0
        self.doing = Doing(None, WAIT, clock.now_ms())

    def enter(self, phase: str, batch: int) -> None:
        """Start a phase of a batch, and end the previous phase. Each Spark job starts a phase."""
        with self._mutex:
            self._jobs += phase == JOB
            self._enter(phase, batch)

    def planning(self) -> None:
        """Start measuring the planning of a batch, even if there turns out to be no work."""
        self._began = time.perf_counter()

    def planned(self, batch: int) -> None:
        """Stop measuring the planning: the batch has its plan."""
        with self._mutex:
            seconds = time.perf_counter() - self._began
            self._plans[batch] = seconds
            if self.doing.phase == WAIT:
                self._seconds[WAIT] = self._seconds.get(WAIT, 0.0) - seconds

    def planned_s(self, batch: int) -> float:
        """Return the seconds that the planning of a batch took; 0 if it was not measured."""
        with self._mutex:
            return self._plans.get(batch, 0.0)

    def done(self, batch: int) -> BatchTimes:
        """End a batch; return the durations of its phases. The wait for the next batch starts."""
        with self._mutex:
            self._enter(WAIT, batch)
            self._seconds[PLAN] = self._plans.pop(batch, 0.0)
            self._plans = {other: s for other, s in self._plans.items() if other > batch}
            found = {phase: max(self._seconds.get(phase, 0.0), 0.0) for phase in BATCH_PHASES}
            jobs, self._jobs, self._seconds = self._jobs, 0, {}
            return BatchTimes(found, max(jobs, 1))

    def _enter(self, phase: str, batch: int) -> None:
        now = time.perf_counter()
        past = self.doing.phase
        self._seconds[past] = self._seconds.get(past, 0.0) + now - self._entered
        self._entered = now
        self.doing = Doing(batch, phase, self._clock.now_ms())
