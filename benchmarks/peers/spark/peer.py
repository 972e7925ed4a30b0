"""Spark's own queries: in the Spark installation that the library runs on, and in the newest Spark.

The newest Spark has an environment of its own, with the other packages of the library.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, packages_of, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Workload
from devtools.workspace import core, packages

__all__ = ("PEERS",)

_NEWEST = "4.3.0"
_NEWEST_NAME = "spark-newest"
_IMPORTED = ("kstreams-json", "kstreams-kafka")
_PROTOBUF = "spark-protobuf"  # needed only by PySpark's state client


@dataclass(frozen=True)
class Spark:
    """Spark with one form of query: its own operators, or user functions on state.

    Args:
        name: The name on the command line.
        form: The form of the query.
        what: The form in words.
        is_newest: Whether the query runs in the newest Spark instead of the library's.
    """

    name: str
    form: Literal["operators", "apply", "processor"]
    what: str
    is_newest: bool = False
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        pyspark = _NEWEST if self.is_newest else version("pyspark")
        return f"PySpark {pyspark}, {self.what}, 4 shuffle partitions"

    @property
    def durability(self) -> Durability:
        kept = "RocksDB" if self.form == "processor" else "heap"
        return Durability("at-least-once", "each batch", f"{kept}, checkpoint on disk")

    def refusal(self, workload: Workload) -> str | None:
        if self.form == "operators":
            return "Spark's operators cannot say it" if workload.spark is None else None
        return None if workload.name in ("W1", "W2") else f"not written for {self.name}"

    def install(self, cache: Path) -> None:
        if self.is_newest:
            installed(cache, _NEWEST_NAME, [f"pyspark[sql]=={_NEWEST}", *_other_requirements()])
        if self.form == "processor":
            installed(cache, _PROTOBUF, ["protobuf>=6.33,<7"])

    def command(self, job: Job, cache: Path) -> Command:
        path = ON_PATH
        if self.form == "processor":
            path = os.pathsep.join([path, str(packages_of(cache, _PROTOBUF))])
        python = str(python_of(cache, _NEWEST_NAME)) if self.is_newest else sys.executable
        arguments = (python, "-m", "benchmarks.peers.spark.main")
        return Command(arguments, {"PYTHONPATH": path, "BENCH_FORM": self.form})


def _other_requirements() -> list[str]:
    """Return the requirements, except PySpark, of the library and of the modules of workloads."""
    parts = [core(), *(each for each in packages() if each.project["name"] in _IMPORTED)]
    required = {each for part in parts for each in part.project["dependencies"]}
    return sorted(each for each in required if not each.startswith(("pyspark", "kstreams-")))


_OPERATORS = Spark("spark", "operators", "its own operators, default state store")

PEERS = (
    _OPERATORS,
    replace(_OPERATORS, name=_NEWEST_NAME, is_newest=True),
    Spark("spark-apply", "apply", "applyInPandasWithState by key", most_records=200_000),
    Spark(
        "spark-processor", "processor", "transformWithStateInPandas by key", most_records=200_000
    ),
)
