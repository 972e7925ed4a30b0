"""Flink SQL on a cluster of one process, started by PyFlink."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Workload
from devtools.servers.ivy import Artifact, resolve
from kstreams import KStreamsError
from kstreams.spark.startup.java import java_home

__all__ = ("PEERS",)

VERSION = "2.2.1"
CONNECTOR = "5.0.0-2.2"
_MAIN = Path(__file__).with_name("main.py")
_DURABILITY = Durability("at-least-once", "1 s", "heap, checkpoints on disk")


@dataclass(frozen=True)
class Flink:
    """Flink SQL; there is only one configuration."""

    name: str = "flink-sql"
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = False
    most_records: int | None = None
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return (
            f"Flink SQL {VERSION}, parallelism 2, default state backend, a checkpoint every "
            "second, results when windows close, without windows in mini-batches"
        )

    def refusal(self, workload: Workload) -> str | None:
        known = (_MAIN.parent / f"{workload.name.lower()}.sql").exists()
        return None if known else "not written for Flink SQL"

    def install(self, cache: Path) -> None:
        # Flink's Beam needs pkg_resources, which the newest setuptools lack.
        installed(cache, "flink", [f"apache-flink=={VERSION}", "setuptools<81"])
        try:
            _connector(cache)
        except KStreamsError as exc:
            raise Unavailable(str(exc)) from exc

    def command(self, job: Job, cache: Path) -> Command:
        jar = _connector(cache)[0].as_uri()
        memory = "-Xmx1g"  # the same as the other JVMs
        variables = {
            "JAVA_HOME": str(java_home()),
            "JAVA_TOOL_OPTIONS": memory,
            "BENCH_JAR": jar,
        }
        return Command((str(python_of(cache, "flink")), str(_MAIN)), variables)


def _connector(cache: Path) -> tuple[Path, ...]:
    artifact = Artifact("org.apache.flink", "flink-sql-connector-kafka", CONNECTOR)
    return resolve((artifact,), cache / "jars" / f"flink-kafka-{CONNECTOR}", transitive=False)


PEERS = (Flink(),)
