"""Finds the workers that are much slower than the other workers of a batch."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from statistics import median

__all__ = ("SlowWorkers", "SlowWorkersError", "Speculation")


@dataclass(frozen=True)
class Speculation:
    """When a batch runs again without its slow workers; the names are those of Spark's settings.

    Attributes:
        quantile: The share of workers that must have finished a stage; at least one.
        multiplier: A worker is slow if it takes this many times the median time of the others.
        min_runtime_s: The minimum time of a slow worker, in seconds.
    """

    quantile: float = 0.9
    multiplier: float = 3.0
    min_runtime_s: float = 0.1


class SlowWorkersError(Exception):
    """Workers are much slower than the other workers of a run.

    Attributes:
        workers: The numbers of the slow workers.
    """

    def __init__(self, workers: frozenset[int]) -> None:
        super().__init__(workers)
        self.workers = workers


class SlowWorkers:
    """The progress of the workers of one run.

    All workers begin a stage when the last worker has finished the stage before.

    Args:
        speculation: The conditions.
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
        """Note that a worker has finished a stage."""
        self._finished.setdefault(stage, {})[worker] = time.monotonic()

    def find(self) -> frozenset[int]:
        """Return the workers that are slow now; empty if none is, or if all are equally slow."""
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
