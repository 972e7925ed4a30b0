"""This library: as it is, and with one call a record; one continuous configuration."""

from __future__ import annotations

import pathlib
import sys
from dataclasses import dataclass
from importlib.metadata import version

from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Execution, Workload

__all__ = ("PEERS", "KStreams")


@dataclass(frozen=True)
class KStreams:
    """One way through the library.

    Args:
        name: What the command line calls it.
        execution: How it runs topologies.
        master: Where Spark runs; by default in one process, on all cores.
    """

    name: str
    execution: Execution
    master: str = "local[*]"
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        how = "as it is" if self.execution == "auto" else "one call a record"
        where = "" if self.master == "local[*]" else f", on {self.master}"
        return f"kstreams-spark {version('kstreams-spark')}, {how}, RocksDB{where}"

    def refusal(self, workload: Workload) -> str | None:
        if workload.topology is None:
            return "the workload has no topology"
        if self.execution == "records" and not workload.by_record:
            return "the topology goes by records anyway"
        return None

    def install(self, cache: pathlib.Path) -> None:
        """Do nothing: it is here."""

    def command(self, job: Job, cache: pathlib.Path) -> Command:
        arguments = (sys.executable, "-m", "benchmarks.peers.kstreams.main")
        given = {"BENCH_EXECUTION": self.execution, "BENCH_MASTER": self.master}
        return Command(arguments, {"PYTHONPATH": ON_PATH, **given})


PEERS = (KStreams("kstreams", "auto"), KStreams("kstreams-record", "records"))
