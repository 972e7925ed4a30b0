"""Kafka Streams, with and without the cache of its stores, and exactly-once."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.environment import step
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Workload
from devtools.servers.ivy import Artifact, resolve
from kstreams import KStreamsError
from kstreams.spark.startup.java import java_home

__all__ = ("PEERS",)

VERSION = "4.1.1"
_SOURCES = tuple(Path(__file__).with_name(f"{name}.java") for name in ("Bench", "Joins", "Nudge"))
_WORKLOADS = ("W1", "W1R", "W1RR", "W2", "W3", "W4", "W5", "W6", "W6o", "W7", "Q3", "Q8", "Q20")
_THREADS = os.cpu_count() or 1


@dataclass(frozen=True)
class KafkaStreams:
    """One setting of the cache and of the delivery guarantee."""

    name: str
    cached: bool
    guarantee: str = "at_least_once"
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None

    @property
    def title(self) -> str:
        cache = "default cache" if self.cached else "no cache"
        once = "" if self.guarantee == "at_least_once" else f", {self.guarantee}"
        return f"Kafka Streams {VERSION} (Java), {_THREADS} threads, {cache}{once}"

    def refusal(self, workload: Workload) -> str | None:
        if self.guarantee != "at_least_once" and workload.name != "W1":
            return "only W1 compares exactly-once delivery"
        return None if workload.name in _WORKLOADS else "not written for Kafka Streams"

    def install(self, cache: Path) -> None:
        if shutil.which("javac") is None:
            raise Unavailable("there is no javac")
        classes = _classes(cache)
        if classes.is_dir():
            return
        try:
            jars = _jars(cache)
        except KStreamsError as exc:
            raise Unavailable(str(exc)) from exc
        made = classes.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        step(["javac", "-nowarn", "-cp", jars, "-d", str(made), *map(str, _SOURCES)], made)
        made.rename(classes)

    def command(self, job: Job, cache: Path) -> Command:
        java = str(java_home() / "bin" / "java")
        path = f"{_classes(cache)}:{_jars(cache)}"
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        variables = {
            "BENCH_CACHED": str(self.cached).lower(),
            "BENCH_GUARANTEE": self.guarantee,
            "BENCH_THREADS": str(_THREADS),
        }
        return Command((java, "-Xmx1g", quiet, "-cp", path, "Bench"), variables)


def _jars(cache: Path) -> str:
    artifacts = (
        Artifact("org.apache.kafka", "kafka-streams", VERSION),
        Artifact("org.slf4j", "slf4j-simple", "1.7.36"),
    )
    into = cache / "jars" / f"kafka-streams-{VERSION}"
    return ":".join(str(jar) for jar in resolve(artifacts, into, transitive=True))


def _classes(cache: Path) -> Path:
    text = b"".join(source.read_bytes() for source in _SOURCES)
    digest = hashlib.sha256(text).hexdigest()[:12]
    return cache / "peers" / f"kafka-streams-{digest}"


PEERS = (
    KafkaStreams("kafka-streams", True),
    KafkaStreams("kafka-streams-uncached", False),
    KafkaStreams("kafka-streams-once", True, "exactly_once_v2"),
)
