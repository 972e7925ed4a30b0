"""Hazelcast's stream engine, Jet, in one member.

The program follows "Kafka Connector" and "Stateful Transforms" in Hazelcast's documentation:
https://docs.hazelcast.com/hazelcast/5.6/integrate/kafka-connector. A member keeps snapshots in its
memory, in maps; several members would keep backups. The options of the JVM are those
of "Running in Modular Java" there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.java_program import JavaProgram, sources_in
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload
from devtools.servers.ivy import Artifact

__all__ = ("PEERS",)

VERSION = "5.6.0"
_PROGRAM = JavaProgram(
    name=f"jet-{VERSION}",
    main="JetBench",
    sources=sources_in(Path(__file__).parent),
    artifacts=(
        Artifact("com.hazelcast", "hazelcast", VERSION),
        Artifact("com.hazelcast.jet", "hazelcast-jet-kafka", VERSION),
        Artifact("com.fasterxml.jackson.core", "jackson-core", "2.21.8"),
    ),
    options=(
        "--add-modules=java.se",
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=java.management/sun.management=ALL-UNNAMED",
        "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
    ),
)
_DURABILITY = Durability("at-least-once", "1 s", "heap, snapshots in memory")


@dataclass(frozen=True)
class Jet:
    """Jet; there is only one configuration."""

    name: str = "jet"
    format: Format = "windowed"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = False
    most_records: int | None = None
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return (
            f"Hazelcast Jet {VERSION} (Java), one member, a cooperative thread for each core, a "
            "snapshot every second, results when windows close"
        )

    def refusal(self, workload: Workload) -> str | None:
        return None if workload.name in ("W1", "W2", "W3", "W4") else "not written for Jet"

    def install(self, cache: Path) -> None:
        _PROGRAM.install(cache)

    def command(self, job: Job, cache: Path) -> Command:
        return Command(_PROGRAM.command(cache))


PEERS = (Jet(),)
