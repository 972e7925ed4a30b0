"""The cost of a batch as state grows: a running count with an increasing number of stored keys."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal
from uuid import uuid4

from benchmarks.suite.cluster import Cluster
from benchmarks.suite.dataset import DATA
from benchmarks.suite.measure import RunFailed
from benchmarks.suite.peer import Command, Job
from benchmarks.suite.process import PeerProcess
from benchmarks.suite.registry import workload_by
from benchmarks.suite.repository import ON_PATH

__all__ = ("TOUCHED", "WARM", "Point", "Touched", "measure_growth")

TOUCHED = 10_000
"""The number of records of a measured batch; each has a different key."""

WARM = 5
"""The number of warm-up batches before the measured ones."""

Touched = Literal["same", "drawn"]
"""The keys in a batch: the same ones at every size, or a sample of all stored keys."""

_POLL_S = 0.2


@dataclass(frozen=True)
class Point:
    """Cost of batches at one size of the state.

    Attributes:
        entries: The number of stored keys.
        touched: The kind of keys in the batches.
        batch_s: Seconds from commit to commit, for each measured batch.
        cpu_s: Processor seconds of all processes per batch.
        puts: Objects that a batch wrote to the durable log, including the driver's commit.
        put_bytes: The total size of these objects.
        peak_bytes: The peak memory (PSS) of all processes, including the process that writes the
            records.
    """

    entries: int
    touched: Touched
    batch_s: list[float]
    cpu_s: float
    puts: float
    put_bytes: float
    peak_bytes: int

    @property
    def median_s(self) -> float:
        """The median duration of the batches."""
        return median(self.batch_s)


def measure_growth(
    sizes: list[int],
    batches: int,
    *,
    cluster: Cluster,
    cache: Path,
    limit_s: float,
    done: Callable[[int], None],
) -> list[Point]:
    """Run a process that stores an increasing number of keys, and measure batches at each size.

    Args:
        sizes: Numbers of keys, ascending.
        batches: The number of measured batches at each size, for each kind of touched keys.
        cluster: The broker.
        cache: The folder of the state.
        limit_s: The time limit in seconds.
        done: Called regularly with the number of processed records.

    Raises:
        RunFailed: The process failed or took too long, or a count is wrong.
    """
    name = f"growth-{uuid4().hex[:8]}"
    home = cache / "runs" / name
    source, sink = f"bench-in-{name}", f"bench-out-{name}"
    for topic in (source, sink):
        cluster.create(topic)
    job = Job(workload_by("W2"), cluster.bootstrap, (source,), sink, (0,), batch=TOUCHED, home=home)
    arguments = (sys.executable, "-m", "benchmarks.scale.growth_process")
    given = {"BENCH_KEYS": json.dumps(sizes), "BENCH_BATCHES": str(batches)}
    process = PeerProcess(Command(arguments, {"PYTHONPATH": ON_PATH, **given}), job)
    try:
        while process.ended is None:
            if time.monotonic() - process.launched > limit_s:
                raise RunFailed(f"state growth is not done within {limit_s:.0f} s")
            done(process.progress[-1][1] if process.progress else 0)
            time.sleep(_POLL_S)
        if process.ended:
            raise RunFailed(
                f"it ended with {process.ended}: {process.last_words()}; its log is {job.log}"
            )
        found = json.loads((home / "points.json").read_text())
    finally:
        process.stop()
        cluster.delete_all_but(lambda topic: topic.startswith(DATA))
        shutil.rmtree(home, ignore_errors=True)
    job.log.unlink(missing_ok=True)
    return [Point(**point) for point in found]
