"""Workers that delay a batch: they are slow, or run blocking code of another query."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from statistics import median

__all__ = ("SlowWorkers", "SlowWorkersError", "Speculation")


@dataclass(frozen=True)
class Speculation:
    """The conditions for running a batch again without its slow workers.

    The attributes have the names of Spark's settings `spark.speculation...`.

    Attributes:
        quantile: The share of workers, from 0 to 1, that must have finished a stage; it is rounded
            up to at least one worker.
        multiplier: A worker is slow if its time exceeds this multiple of the median time of the
            workers that have finished the stage.
        min_runtime_s: A worker is slow only if its time exceeds this number of seconds, too.
    """

    quantile: float = 0.9
    multiplier: float = 3.0
    min_runtime_s: float = 0.1


class SlowWorkersError(Exception):
    """Workers delay a run that other workers can finish.

    Attributes:
        workers: The numbers of these workers.
        reason: The cause as a predicate of these workers, such as "are slower than the others".
    """

    def __init__(self, workers: frozenset[int], reason: str) -> None:
        super().__init__(workers, reason)
        self.workers = workers
        self.reason = reason


class SlowWorkers:
    """Records when each worker of a run finishes a stage, and finds slow workers.

    All workers begin a stage when the last worker has finished the stage before.

    Args:
        speculation: The conditions under which a worker is slow.
        workers: The numbers of the workers.
    """

    interval_s = 0.05
    """The interval of checks, in seconds."""

    def __init__(self, speculation: Speculation, workers: Collection[int]) -> None:
        self._speculation = speculation
        self._workers = frozenset(workers)
        self._finished: dict[int, dict[int, float]] = {}  # by stage and worker
        self._began = time.monotonic()

    def finished(self, worker: int, stage: int) -> None:
        """Record that a worker finishes a stage now."""
        self._finished.setdefault(stage, {})[worker] = time.monotonic()

    def find(self) -> frozenset[int]:
        """Return the numbers of the workers that are slow in the current stage; may be empty."""
        stage, began = 0, self._began
        while len(done := self._finished.get(stage, {})) == len(self._workers):
            stage, began = stage + 1, max(done.values())
        if len(done) < max(1, math.ceil(self._speculation.quantile * len(self._workers) - 1e-9)):
            return frozenset()
        usual = median(at - began for at in done.values())
        limit = max(self._speculation.min_runtime_s, self._speculation.multiplier * usual)
        if time.monotonic() - began <= limit:
            return frozenset()
        return self._workers - done.keys()
