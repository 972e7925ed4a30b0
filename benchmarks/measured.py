"""Elapsed and processor time side by side: other load on a machine disturbs the second less."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median

__all__ = ("Times",)


@dataclass
class Times:
    """Times of some rounds of one thing; a context measures a round.

    Attributes:
        wall: Elapsed seconds.
        cpu: Processor seconds of the whole process, all threads.
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
        """Return how many a second, of the best round; in brackets a processor second."""
        return f"{count / min(self.wall):11,.0f} ({count / min(self.cpu):11,.0f})"

    def ms(self) -> str:
        """Return milliseconds: median, slowest, and the median of processor time."""
        wall, cpu = median(self.wall), median(self.cpu)
        return f"{1000 * wall:8.1f} {1000 * max(self.wall):8.1f} {1000 * cpu:8.1f}"

    def figures(self, count: int = 1) -> dict[str, float]:
        """Return what JSON keeps."""
        return {
            "count": count,
            "best_s": min(self.wall),
            "median_s": median(self.wall),
            "slowest_s": max(self.wall),
            "best_cpu_s": min(self.cpu),
            "median_cpu_s": median(self.cpu),
        }
