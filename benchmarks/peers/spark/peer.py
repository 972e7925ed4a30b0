"""Spark's own queries, in the Spark installation that the library runs on."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, packages_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

_PROTOBUF = "spark-protobuf"  # needed only by PySpark's state client


@dataclass(frozen=True)
class Spark:
    """Spark with one form of query: its own operators, or user functions on state."""

    name: str
    form: Literal["operators", "apply", "processor"]
    what: str
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        return f"PySpark {version('pyspark')}, {self.what}, 4 shuffle partitions"

    @property
    def durability(self) -> Durability:
        kept = "RocksDB" if self.form == "processor" else "heap"
        return Durability("at-least-once", "each batch", f"{kept}, checkpoint on disk")

    def refusal(self, workload: Workload) -> str | None:
        if self.form == "operators":
            return "Spark's operators cannot say it" if workload.spark is None else None
        return None if workload.name in ("W1", "W2") else f"not written for {self.name}"

    def install(self, cache: Path) -> None:
        if self.form == "processor":
            installed(cache, _PROTOBUF, ["protobuf>=6.33,<7"])

    def command(self, job: Job, cache: Path) -> Command:
        path = ON_PATH
        if self.form == "processor":
            path = os.pathsep.join([path, str(packages_of(cache, _PROTOBUF))])
        arguments = (sys.executable, "-m", "benchmarks.peers.spark.main")
        return Command(arguments, {"PYTHONPATH": path, "BENCH_FORM": self.form})


PEERS = (
    Spark("spark", "operators", "its own operators, default state store"),
    Spark("spark-apply", "apply", "applyInPandasWithState by key", most_records=200_000),
    Spark(
        "spark-processor", "processor", "transformWithStateInPandas by key", most_records=200_000
    ),
)
