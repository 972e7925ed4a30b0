"""Elapsed time and processor time of benchmarks.

Other load on the machine disturbs processor time less than elapsed time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median

__all__ = ("Times",)


@dataclass
class Times:
    """Times of several rounds; entering the object as a context measures one round.

    Attributes:
        wall: Elapsed seconds of each round.
        cpu: Processor seconds of each round, for all threads of the process.
    """

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def __enter__(self) -> Times:
        self._begin = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall.append(time.perf_counter() - self._begin[0])
        self.cpu.append(time.process_time() - self._begin[1])

    def rate(self, count: int) -> str:
        """Format records per second, and in brackets records per processor second.

        Both rates are the best of all rounds; `count` is the number of records of a round.
        """
        return f"{count / min(self.wall):11,.0f} ({count / min(self.cpu):11,.0f})"

    def ms(self) -> str:
        """Format milliseconds: the median, the slowest round, and the median processor time."""
        wall, cpu = median(self.wall), median(self.cpu)
        return f"{1000 * wall:8.1f} {1000 * max(self.wall):8.1f} {1000 * cpu:8.1f}"

    def figures(self, count: int = 1) -> dict[str, float]:
        """Return the figures for the JSON output."""
        return {
            "count": count,
            "best_s": min(self.wall),
            "median_s": median(self.wall),
            "slowest_s": max(self.wall),
            "best_cpu_s": min(self.cpu),
            "median_cpu_s": median(self.cpu),
        }
