"""This library, as it is: both paths, one continuous configuration."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)


@dataclass(frozen=True)
class KStreams:
    """One path of the library."""

    name: str
    path: Literal["vector", "record"]
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        how = "whole columns" if self.path == "vector" else "one call a record"
        return f"kstreams-spark {version('kstreams-spark')}, {how}, RocksDB"

    def refusal(self, workload: Workload) -> str | None:
        if workload.topology is None:
            return "the workload has no topology"
        if self.path not in workload.paths:
            return f"no {self.path} path"
        return None

    def install(self, cache: Path) -> None:
        """Do nothing: it is here."""

    def command(self, job: Job, cache: Path) -> Command:
        arguments = (sys.executable, "-m", "benchmarks.peers.kstreams.main")
        return Command(arguments, {"PYTHONPATH": ON_PATH, "BENCH_PATH": self.path})


PEERS = (KStreams("kstreams", "vector"), KStreams("kstreams-record", "record"))
