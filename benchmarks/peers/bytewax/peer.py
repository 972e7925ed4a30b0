"""Bytewax, with recovery on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "0.21.1"
_MAIN = Path(__file__).with_name("main.py")


@dataclass(frozen=True)
class Bytewax:
    """The one configuration."""

    name: str = "bytewax"
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = False
    most_records: int | None = 100_000

    @property
    def title(self) -> str:
        return f"Bytewax {VERSION}, 1 worker, recovery on SQLite, windows close with the input"

    def refusal(self, workload: Workload) -> str | None:
        known = workload.name in ("W1", "W2", "W3", "W4")
        return None if known else "not written for Bytewax"

    def install(self, cache: Path) -> None:
        installed(cache, "bytewax", [f"bytewax[kafka]=={VERSION}"])

    def command(self, job: Job, cache: Path) -> Command:
        return Command((str(python_of(cache, "bytewax")), str(_MAIN)))


PEERS = (Bytewax(),)
