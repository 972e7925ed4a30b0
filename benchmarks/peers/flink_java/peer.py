"""Flink's DataStream API on a cluster of one process: state on the heap and in RocksDB.

The programs follow "Windows" and "Process Function" in the documentation of the DataStream API:
https://nightlies.apache.org/flink/flink-docs-release-2.2/docs/dev/datastream/operators/windows/.
Objects are reused, as "Execution Configuration" there recommends for functions that keep no record.
With combining, each task adds up the numbers of a key before the shuffle, like "Local-Global
Aggregation" in Flink's page "Performance Tuning".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.suite.durability import Delivery, Durability
from benchmarks.suite.java_program import JavaProgram, sources_in
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload
from devtools.servers.ivy import Artifact

__all__ = ("PEERS",)

VERSION = "2.2.1"
CONNECTOR = "5.0.0-2.2"
_PARTS = (
    "flink-streaming-java",
    "flink-clients",
    "flink-connector-base",
    "flink-statebackend-rocksdb",
)
_PROGRAM = JavaProgram(
    name=f"flink-java-{VERSION}",
    main="FlinkBench",
    sources=sources_in(Path(__file__).parent),
    artifacts=(
        *(Artifact("org.apache.flink", part, VERSION) for part in _PARTS),
        Artifact("org.apache.flink", "flink-connector-kafka", CONNECTOR),
        Artifact("com.fasterxml.jackson.core", "jackson-core", "2.21.8"),
    ),
    options=(
        "--add-opens=java.base/java.util=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
    ),
)
_WORKLOADS = ("W1", "W2", "W3", "W4", "W5")


@dataclass(frozen=True)
class FlinkJava:
    """One configuration.

    Args:
        name: The name on the command line.
        state: The state backend.
        combining: Whether numbers are added up before the shuffle.
        delivery: The delivery guarantee of the sink.
        workloads: The supported workloads.
    """

    name: str
    state: Literal["hashmap", "rocksdb"] = "hashmap"
    combining: bool = False
    delivery: Delivery = "at-least-once"
    workloads: tuple[str, ...] = _WORKLOADS
    format: Format = "windowed"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = False
    most_records: int | None = None

    @property
    def title(self) -> str:
        combining = ", combining before the shuffle" if self.combining else ""
        return (
            f"Flink {VERSION} DataStream (Java), a task for each core, {self.state}{combining}, "
            f"results when windows close, object reuse, {self.delivery}"
        )

    @property
    def durability(self) -> Durability:
        state = "heap" if self.state == "hashmap" else "RocksDB"
        return Durability(self.delivery, "1 s", f"{state}, checkpoints on disk")

    def refusal(self, workload: Workload) -> str | None:
        if workload.name in self.workloads:
            return None
        if workload.name in _WORKLOADS:
            return f"{self.name} is only for {', '.join(self.workloads)}"
        return "not written for Flink's DataStream API"

    def install(self, cache: Path) -> None:
        _PROGRAM.install(cache)

    def command(self, job: Job, cache: Path) -> Command:
        variables = {
            "BENCH_STATE": self.state,
            "BENCH_COMBINING": str(self.combining).lower(),
            "BENCH_GUARANTEE": self.delivery.upper().replace("-", "_"),
        }
        return Command(_PROGRAM.command(cache), variables)


PEERS = (
    FlinkJava("flink-java"),
    FlinkJava("flink-java-rocksdb", "rocksdb"),
    FlinkJava("flink-java-combining", combining=True, workloads=("W1", "W2", "W3", "W5")),
    FlinkJava("flink-java-once", delivery="exactly-once", workloads=("W1", "W2")),
)
