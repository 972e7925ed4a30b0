"""This library: as it is, and with one call a record; one continuous configuration."""

from __future__ import annotations

import pathlib
import sys
from dataclasses import dataclass
from importlib.metadata import version

from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Path, Workload

__all__ = ("PEERS",)


@dataclass(frozen=True)
class KStreams:
    """One way through the library."""

    name: str
    path: Path
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        how = "as it is" if self.path == "auto" else "one call a record"
        return f"kstreams-spark {version('kstreams-spark')}, {how}, RocksDB"

    def refusal(self, workload: Workload) -> str | None:
        if workload.topology is None:
            return "the workload has no topology"
        if self.path == "record" and not workload.by_record:
            return "the topology goes by records anyway"
        return None

    def install(self, cache: pathlib.Path) -> None:
        """Do nothing: it is here."""

    def command(self, job: Job, cache: pathlib.Path) -> Command:
        arguments = (sys.executable, "-m", "benchmarks.peers.kstreams.main")
        return Command(arguments, {"PYTHONPATH": ON_PATH, "BENCH_PATH": self.path})


PEERS = (KStreams("kstreams", "auto"), KStreams("kstreams-record", "record"))
