"""Kafka Streams: in its default configuration, as an expert configures it, and exactly-once.

The configurations follow "Configuring a Streams Application" and "Memory Management" in Kafka's
documentation: https://kafka.apache.org/documentation/streams/developer-guide/memory-mgmt.html. The
form of W4 with one open session for each key follows "Processor API" there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.suite.durability import Durability
from benchmarks.suite.java_program import JavaProgram, sources_in
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload
from devtools.servers.ivy import Artifact

__all__ = ("PEERS",)

VERSION = "4.4.0"
_PROGRAM = JavaProgram(
    name=f"kafka-streams-{VERSION}",
    main="Bench",
    sources=sources_in(Path(__file__).parent),
    artifacts=(Artifact("org.apache.kafka", "kafka-streams", VERSION),),
)
_WORKLOADS = ("W1", "W1R", "W1RR", "W2", "W3", "W4", "W5", "W6", "W6o", "W7", "Q3", "Q8", "Q20")
_THREADS = os.cpu_count() or 1


@dataclass(frozen=True)
class KafkaStreams:
    """One configuration of Kafka Streams, as a `Peer`.

    Args:
        name: The name on the command line.
        what: The settings that differ from the defaults, for the report.
        cache: The size of the cache in bytes; empty for the default of 10 MB.
        guarantee: The `processing.guarantee`.
        store: The kind of state stores: RocksDB or in memory.
        fetches: Whether the client fetches and buffers more records than by default.
        form: The API of the topology: the DSL, or, for W4 only, the Processor API.
        workloads: The supported workloads.
        emits_updates: Whether it forwards the results of open windows.
    """

    name: str
    what: str
    cache: str = ""
    guarantee: Literal["at_least_once", "exactly_once_v2"] = "at_least_once"
    store: Literal["rocksdb", "memory"] = "rocksdb"
    fetches: Literal["default", "large"] = "default"
    form: Literal["dsl", "processor"] = "dsl"
    workloads: tuple[str, ...] = _WORKLOADS
    emits_updates: bool = True
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        return f"Kafka Streams {VERSION} (Java), {_THREADS} threads, {self.what}"

    @property
    def durability(self) -> Durability:
        state = "RocksDB" if self.store == "rocksdb" else "heap"
        once = self.guarantee == "exactly_once_v2"
        return Durability(
            "exactly-once" if once else "at-least-once",
            "100 ms" if once else "30 s",
            f"{state}, changelog topic",
        )

    def refusal(self, workload: Workload) -> str | None:
        if workload.name in self.workloads:
            return None
        if workload.name in _WORKLOADS:
            return f"{self.name} is only for {', '.join(self.workloads)}"
        return "not written for Kafka Streams"

    def install(self, cache: Path) -> None:
        _PROGRAM.install(cache)

    def command(self, job: Job, cache: Path) -> Command:
        variables = {
            "BENCH_CACHE": self.cache,
            "BENCH_FETCHES": self.fetches,
            "BENCH_FORM": self.form,
            "BENCH_GUARANTEE": self.guarantee,
            "BENCH_STORE": self.store,
            "BENCH_THREADS": str(_THREADS),
        }
        return Command(_PROGRAM.command(cache), variables)


_LARGE = str(256 << 20)
_COUNTS = ("W1", "W2", "W3", "W4")
PEERS = (
    KafkaStreams("kafka-streams", "default cache"),
    KafkaStreams("kafka-streams-uncached", "no cache", "0"),
    KafkaStreams(
        "kafka-streams-tuned",
        "cache of 256 MiB, large fetches",
        _LARGE,
        fetches="large",
        workloads=_COUNTS,
    ),
    KafkaStreams(
        "kafka-streams-memory",
        "stores in memory, cache of 256 MiB, large fetches",
        _LARGE,
        store="memory",
        fetches="large",
        workloads=_COUNTS,
    ),
    KafkaStreams(
        "kafka-streams-processor",
        "Processor API, forwards sessions that are over, cache of 256 MiB, large fetches",
        _LARGE,
        fetches="large",
        form="processor",
        workloads=("W4",),
        emits_updates=False,
    ),
    KafkaStreams(
        "kafka-streams-once",
        "default cache, exactly_once_v2",
        guarantee="exactly_once_v2",
        workloads=("W1", "W2"),
    ),
)
