"""Bytewax with recovery on disk, in one process and in two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "0.21.1"
_MAIN = Path(__file__).with_name("main.py")
_DURABILITY = Durability("at-least-once", "10 s", "memory, snapshots on SQLite")


@dataclass(frozen=True)
class Bytewax:
    """Bytewax with a fixed number of processes."""

    name: str
    processes: int
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = False
    most_records: int | None = 1_200_000
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"Bytewax {VERSION}, {processes}, recovery on SQLite, windows close with the input"

    def refusal(self, workload: Workload) -> str | None:
        known = workload.name in ("W1", "W2", "W3", "W4", "W5", "W6", "W6o")
        return None if known else "not written for Bytewax"

    def install(self, cache: Path) -> None:
        installed(cache, "bytewax", [f"bytewax[kafka]=={VERSION}"])

    def command(self, job: Job, cache: Path) -> Command:
        python = str(python_of(cache, "bytewax"))
        return Command((python, str(_MAIN)), {"BENCH_PROCESSES": str(self.processes)})


PEERS = (Bytewax("bytewax", 1), Bytewax("bytewax-2", 2))
