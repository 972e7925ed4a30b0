"""What follows for many partitions from runs on few."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.scale.runs import CORES
from benchmarks.scale.series import Series, by_cores, by_partitions
from benchmarks.suite.outcome import Outcome
from benchmarks.suite.plan import batch_of

__all__ = ("Costs", "costs_of")


@dataclass(frozen=True)
class Costs:
    """What a batch of W1 costs, by a straight line through runs on more and more partitions.

    Attributes:
        task_core_s: Core seconds for each partition, whatever its records.
        record_core_s: Core seconds for each record: all that does not grow with partitions, so
            that what a batch costs by itself is in it.
        partition_bytes: Memory for each partition.
        core_bytes: Memory for each core: a Python worker, and what the JVM needs more.
        base_bytes: Memory besides.
    """

    task_core_s: float
    record_core_s: float
    partition_bytes: float
    core_bytes: float
    base_bytes: float

    def cores(self, partitions: int, rate: float, every_s: float, busy: float) -> float:
        """Return how many cores are needed.

        Args:
            partitions: How many tasks have records in each batch.
            rate: Records a second, of all partitions.
            every_s: Seconds from batch to batch.
            busy: What share of the time they are to be busy; the rest is for catching up.
        """
        return (partitions * self.task_core_s / every_s + rate * self.record_core_s) / busy

    def memory_bytes(self, partitions: float, cores: int) -> float:
        """Return the memory of one executor with so many cores and tasks."""
        return self.base_bytes + cores * self.core_bytes + partitions * self.partition_bytes


def costs_of(runs: Outcome) -> Costs | None:
    """Return the costs, None where runs on at least two numbers of partitions are not there."""
    found = by_partitions(runs)
    if len(found) < 2:
        return None
    cpu, batches = [], []
    for figures in found.values():
        batch = batch_of(figures[0].records)
        batches.append(batch)
        cpu.append(median(each.cpu_s_per_million for each in figures) * batch / 1e6)
    task, rest = map(float, np.polyfit(list(found), cpu, 1))
    partition, base = map(float, np.polyfit(list(found), _memory(found), 1))
    core, cores = 0.0, by_cores(runs)
    if len(cores) > 1:
        core = max(float(np.polyfit(list(cores), _memory(cores), 1)[0]), 0.0)
    return Costs(
        task_core_s=task,
        record_core_s=rest / median(batches),
        partition_bytes=max(partition, 0.0),
        core_bytes=core,
        base_bytes=base - max(CORES) * core,
    )


def _memory(series: Series) -> list[float]:
    return [median(each.peak_bytes for each in rounds) for rounds in series.values()]
