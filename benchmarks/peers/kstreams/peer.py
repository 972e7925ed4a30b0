"""This library: with default execution, with one call per record, and exactly-once."""

from __future__ import annotations

import pathlib
import sys
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from benchmarks.suite.durability import Durability
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.repository import ON_PATH
from benchmarks.suite.workload import Execution, Workload
from kstreams_kafka.options import Delivery

__all__ = ("PEERS", "KStreams")

_CLUSTER = "local-cluster[2,1,1024]"
_DEFAULT = ("kstreams", "kstreams-record", "kstreams-once")
_REPARTITIONED = ("W1", "W1R", "W1RR")


@dataclass(frozen=True)
class KStreams:
    """One configuration of the library.

    Args:
        name: The name on the command line.
        execution: The execution mode of topologies.
        master: The Spark master; by default one process on all cores.
        delivery: The delivery guarantee on Kafka.
        engine: The engine of the app.
        stage: The mode in which stages run on Spark: `workers` or `group-state`; see
            `App(stage=...)`.
    """

    name: str
    execution: Execution
    master: str = "local[*]"
    delivery: Delivery = "at-least-once"
    engine: Literal["spark", "embedded"] = "spark"
    stage: Literal["workers", "group-state"] = "workers"
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        how = "default execution" if self.execution == "auto" else "one call per record"
        where = "" if self.master == "local[*]" else f", on {self.master}"
        where = where if self.engine == "spark" else ", embedded engine"
        where += "" if self.stage == "workers" else f", {self.stage}"
        once = "" if self.delivery == "at-least-once" else f", {self.delivery}"
        return f"kstreams-spark {version('kstreams-spark')}, {how}, RocksDB{where}{once}"

    @property
    def durability(self) -> Durability:
        return Durability(self.delivery, "each batch", "RocksDB, checkpoint on disk")

    def refusal(self, workload: Workload) -> str | None:
        if workload.topology is None:
            return "the workload has no topology"
        if self.execution == "records" and not workload.by_record:
            return "the default execution of this topology is by records"
        if self.delivery == "exactly-once" and workload.name not in ("W1", "W2"):
            return "only W1 and W2 compare exactly-once delivery"
        if self.name not in _DEFAULT and workload.name not in _REPARTITIONED:
            return "only W1, W1R and W1RR compare executors"
        return None

    def install(self, cache: pathlib.Path) -> None:
        """Do nothing: the library is already installed."""

    def command(self, job: Job, cache: pathlib.Path) -> Command:
        arguments = (sys.executable, "-m", "benchmarks.peers.kstreams.main")
        given = {
            "BENCH_EXECUTION": self.execution,
            "BENCH_MASTER": self.master,
            "BENCH_DELIVERY": self.delivery,
            "BENCH_ENGINE": self.engine,
            "BENCH_STAGE": self.stage,
        }
        return Command(arguments, {"PYTHONPATH": ON_PATH, **given})


PEERS = (
    KStreams("kstreams", "auto"),
    KStreams("kstreams-record", "records"),
    KStreams("kstreams-once", "auto", delivery="exactly-once"),
    KStreams("kstreams-embedded", "auto", engine="embedded"),
    KStreams("kstreams-executors", "auto", master=_CLUSTER),
    KStreams("kstreams-group-state", "auto", stage="group-state"),
    KStreams("kstreams-group-state-executors", "auto", master=_CLUSTER, stage="group-state"),
)
