"""What a query is doing, and how long the phases of a batch have taken."""

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
"""For records, for the trigger's time, or for the user's `on_batch`."""
PLAN: Final = "plan"
"""What the batch reads is decided, and written down."""
JOB: Final = "job"
"""Spark runs the tasks."""
COMMIT: Final = "commit"
"""The batch is written to the durable log."""
PUBLISH: Final = "publish"
"""What is committed becomes visible."""

BATCH_PHASES: Final = (WAIT, PLAN, JOB, COMMIT, PUBLISH)
"""All of them, in their order."""


class Doing(NamedTuple):
    """What a query is doing at a moment.

    Attributes:
        batch: Number of the batch under way; of the last one, while it waits; None before any.
        phase: One of `BATCH_PHASES`.
        since_ms: Since when, ms since the epoch.
    """

    batch: int | None
    phase: str
    since_ms: int


class BatchTimes(NamedTuple):
    """How long a batch took.

    Attributes:
        seconds: By phase.
        jobs: How many jobs of Spark it took.
    """

    seconds: dict[str, float]
    jobs: int


class BatchProgress:
    """Follows one query from phase to phase. Any thread may ask what it is doing.

    A batch that is planned while the one before it is committed has waited for nothing, and its
    plan's time is counted with it all the same.

    Args:
        clock: The app's.

    Attributes:
        doing: What it is doing.
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
        """Begin a phase of a batch; what was before it is over. Each job begins one."""
        with self._mutex:
            self._jobs += phase == JOB
            self._enter(phase, batch)

    def planning(self) -> None:
        """Begin to plan a batch, or to see that there is nothing to plan."""
        self._began = time.perf_counter()

    def planned(self, batch: int) -> None:
        """Take in that a batch has its plan."""
        with self._mutex:
            seconds = time.perf_counter() - self._began
            self._plans[batch] = seconds
            if self.doing.phase == WAIT:
                self._seconds[WAIT] = self._seconds.get(WAIT, 0.0) - seconds

    def planned_s(self, batch: int) -> float:
        """Return how long it took to plan a batch that is under way, seconds."""
        with self._mutex:
            return self._plans.get(batch, 0.0)

    def done(self, batch: int) -> BatchTimes:
        """End a batch; return how long it took. What comes is the wait for the next."""
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
