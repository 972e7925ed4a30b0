"""Spark's own queries, in the very Spark that the library runs on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)


@dataclass(frozen=True)
class Spark:
    """Spark's built-in operators, with its default state store."""

    name: str = "spark"
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        return f"PySpark {version('pyspark')}, groupBy, default state store, 4 shuffle partitions"

    def refusal(self, workload: Workload) -> str | None:
        return "Spark's operators cannot say it" if workload.spark is None else None

    def install(self, cache: Path) -> None:
        """Do nothing: the library runs on it."""

    def command(self, job: Job, cache: Path) -> Command:
        arguments = (sys.executable, "-m", "benchmarks.peers.spark.main")
        return Command(arguments, {"PYTHONPATH": ON_PATH})


PEERS = (Spark(),)
