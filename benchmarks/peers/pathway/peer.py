"""Pathway: with one worker and with two, and with or without persistence of its input.

The program follows "Kafka connectors", "Windows" and "Persistence" in Pathway's user guide:
https://pathway.com/developers/user-guide/deployment/persistence. The number of workers is set as on
"Worker Architecture".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "0.33.0"
_MAIN = Path(__file__).with_name("main.py")


@dataclass(frozen=True)
class Pathway:
    """Pathway with a fixed number of workers.

    Args:
        name: The name on the command line.
        workers: The number of worker threads.
        persistent: Whether it stores its input, to compute the state again after a crash.
    """

    name: str
    workers: int
    persistent: bool = False
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        kept = "persistence of the input" if self.persistent else "no persistence"
        return f"Pathway {VERSION}, {workers}, {kept}, writes updates every 100 ms"

    @property
    def durability(self) -> Durability:
        if self.persistent:
            return Durability("at-least-once", "1 s", "memory, input on disk")
        return Durability("none", "-", "memory, lost after a crash")

    def refusal(self, workload: Workload) -> str | None:
        if workload.name == "W4":
            return "a longer session is another row, and Pathway writes removed rows as results"
        known = workload.name in ("W1", "W2", "W3")
        return None if known else "not written for Pathway"

    def install(self, cache: Path) -> None:
        installed(cache, "pathway", [f"pathway=={VERSION}"])

    def command(self, job: Job, cache: Path) -> Command:
        variables = {
            "PATHWAY_THREADS": str(self.workers),
            "BENCH_PERSISTENCE": "input" if self.persistent else "none",
        }
        return Command((str(python_of(cache, "pathway")), str(_MAIN)), variables)


PEERS = (
    Pathway("pathway", 1),
    Pathway("pathway-2", 2),
    Pathway("pathway-persistent", 1, persistent=True),
    Pathway("pathway-2-persistent", 2, persistent=True),
)
