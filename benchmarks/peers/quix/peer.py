"""Quix Streams, in one process and in two.

The program follows "Windowing" and "Joins" in Quix Streams' documentation:
https://quix.io/docs/quix-streams/windowing.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "3.28.1"
_MAIN = Path(__file__).with_name("main.py")
_DURABILITY = Durability("at-least-once", "5 s", "RocksDB, changelog topic")


@dataclass(frozen=True)
class Quix:
    """Quix Streams with a fixed number of processes."""

    name: str
    processes: int
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = True
    most_records: int | None = 1_200_000
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return (
            f"Quix Streams {VERSION}, {processes}, emits every update, sessions when they are over"
        )

    def refusal(self, workload: Workload) -> str | None:
        if workload.name == "W6o":
            return "its outer join gives a record without its partner at once, and the pair too"
        known = workload.name in ("W1", "W2", "W3", "W4", "W5", "W6", "Q20")
        return None if known else "not written for Quix Streams"

    def install(self, cache: Path) -> None:
        installed(cache, "quix", [f"quixstreams=={VERSION}"])

    def command(self, job: Job, cache: Path) -> Command:
        python = str(python_of(cache, "quix"))
        return Command((python, str(_MAIN)), {"BENCH_PROCESSES": str(self.processes)})


PEERS = (Quix("quix", 1), Quix("quix-2", 2))
