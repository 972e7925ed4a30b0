"""The cost of a batch as state grows: a running count, with more and more keys stored."""

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
"""How many records a measured batch has, each of another key."""

WARM = 5
"""How many batches come before those that are measured."""

Touched = Literal["same", "drawn"]
"""Which keys a batch touches: the same ones at every size, or drawn from all that are stored."""

_POLL_S = 0.2


@dataclass(frozen=True)
class Point:
    """What batches cost on so much state.

    Attributes:
        entries: How many keys are stored.
        touched: Which of them the batches touch.
        batch_s: Seconds from commit to commit, of each measured batch.
        cpu_s: Processor seconds of all processes, a batch.
        puts: How many objects a batch wrote to the durable log, the driver's commit included.
        put_bytes: Their size.
        peak_bytes: The most memory of all processes (PSS) meanwhile; the writer is among them.
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
        """The middle one of the batches."""
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
    """Run a process that stores more and more keys, and measure batches at each size.

    Args:
        sizes: Numbers of keys, rising.
        batches: How many are measured at each size, for each kind of touched keys.
        cluster: The broker.
        cache: Where state lies.
        limit_s: How long it may take.
        done: Told now and then how many records are done.

    Raises:
        RunFailed: It failed, took too long, or a count is wrong.
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
