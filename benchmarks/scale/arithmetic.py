"""Extrapolates from runs on few partitions to many partitions."""

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
    """Cost of a batch of W1, by linear regression over runs with different numbers of partitions.

    Attributes:
        task_core_s: Core seconds per partition, independent of the number of records.
        record_core_s: Core seconds per record: all cost that does not grow with partitions,
            including the fixed cost of a batch.
        partition_bytes: Memory per partition.
        core_bytes: Memory per core: a Python worker, and the additional memory of the JVM.
        base_bytes: All other memory.
    """

    task_core_s: float
    record_core_s: float
    partition_bytes: float
    core_bytes: float
    base_bytes: float

    def cores(self, partitions: int, rate: float, every_s: float, busy: float) -> float:
        """Return the number of cores needed.

        Args:
            partitions: The number of tasks that have records in each batch.
            rate: Records per second of all partitions.
            every_s: Seconds between batches.
            busy: The target utilization of the cores; the rest of the time is reserved for catching
                up.
        """
        return (partitions * self.task_core_s / every_s + rate * self.record_core_s) / busy

    def memory_bytes(self, partitions: float, cores: int) -> float:
        """Return the memory of one executor with this number of cores and tasks."""
        return self.base_bytes + cores * self.core_bytes + partitions * self.partition_bytes


def costs_of(runs: Outcome) -> Costs | None:
    """Return the costs; None unless there are runs on at least two numbers of partitions."""
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
