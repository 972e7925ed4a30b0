"""Figures of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.windows.cases import Case

__all__ = ("Figures", "figures_of", "state_bytes")


@dataclass(frozen=True)
class Figures:
    """Figures of one run, or of the best of several runs.

    Attributes:
        case: The case.
        records_per_s: Records per elapsed second.
        records_per_cpu_s: Records per second of this process's CPU time; None if other processes do
            the work.
        batch_ms: The elapsed time of each batch.
        batch_cpu_ms: The CPU time of each batch; empty if other processes do the work.
        results: The number of written results.
        dropped: The number of late records, or pairs of late record and window.
        state_bytes_per_key: The size of RocksDB's files divided by the number of distinct keys.
    """

    case: Case
    records_per_s: int
    records_per_cpu_s: int | None
    batch_ms: tuple[float, ...]
    batch_cpu_ms: tuple[float, ...]
    results: int
    dropped: int
    state_bytes_per_key: float

    def percentile(self, share: int) -> float:
        """Return the percentile of batch times, in ms."""
        return round(float(np.percentile(self.batch_ms, share)), 1)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        rest = {name: value for name, value in asdict(self).items() if name != "case"}
        percentiles = {"p50_batch_ms": self.percentile(50), "p99_batch_ms": self.percentile(99)}
        return {**asdict(self.case), **rest, **percentiles}


def figures_of(
    case: Case,
    *,
    measured: int,
    wall_s: float,
    batches_s: Sequence[float],
    cpus_s: Sequence[float] = (),
    **rest: Any,
) -> Figures:
    """Return figures of `measured` records from their elapsed and CPU times."""
    cpu = sum(cpus_s)
    return Figures(
        case,
        round(measured / wall_s),
        round(measured / cpu) if cpu else None,
        tuple(round(1000 * seconds, 2) for seconds in batches_s),
        tuple(round(1000 * seconds, 2) for seconds in cpus_s),
        **rest,
    )


def state_bytes(local: Path) -> int:
    """Return the size of all RocksDB files below a directory; hard links count once."""
    found = {
        (stat.st_dev, stat.st_ino): stat.st_size for stat in map(Path.stat, local.rglob("*.sst"))
    }
    return sum(found.values())
