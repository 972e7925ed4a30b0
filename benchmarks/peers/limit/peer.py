"""The limit: a C program on the librdkafka of this library, which keeps no state.

A system that reads from Kafka, keeps state and writes to Kafka can hardly be faster on the same
machine. The settings follow the chapter "High throughput" of librdkafka's INTRODUCTION.md:
https://github.com/confluentinc/librdkafka/blob/master/INTRODUCTION.md#high-throughput
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import step
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

_FOLDER = Path(__file__).parent
_SOURCES = tuple(_FOLDER / name for name in ("limit.c", "librdkafka.h", "table.h"))
_FLAGS = ("-O3", "-std=gnu11", "-Wall", "-Wextra", "-pthread")
_DURABILITY = Durability("none", "1 s", "memory, lost after a crash")


@dataclass(frozen=True)
class Limit:
    """The C program; there is only one configuration."""

    name: str = "limit"
    format: Format = "windowed"
    timestamps: Timestamps = "event"
    reports_progress: bool = True
    emits_updates: bool = True
    most_records: int | None = None
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return (
            f"C on the librdkafka of confluent-kafka {version('confluent-kafka')}, "
            f"{_threads()} threads, writes changed counts and commits offsets every second"
        )

    def refusal(self, workload: Workload) -> str | None:
        known = workload.name in ("W1", "W2", "Q1")
        return None if known else "not written in C"

    def install(self, cache: Path) -> None:
        built = _program(cache)
        if built.is_file():
            return
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
        if compiler is None:
            raise Unavailable("no C compiler (cc, gcc or clang) is on PATH")
        library = _library()
        shutil.rmtree(built.parent, ignore_errors=True)
        built.parent.mkdir(parents=True)
        new = built.with_suffix(".new")
        link = (f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}")
        command = [compiler, *_FLAGS, str(_SOURCES[0]), "-o", str(new), *link]
        step(command, built.parent)
        new.rename(built)

    def command(self, job: Job, cache: Path) -> Command:
        partitions = job.workload.dataset.partitions
        given = {
            "BENCH_PARTITIONS": str(partitions),
            "BENCH_THREADS": str(min(_threads(), partitions)),
        }
        return Command((str(_program(cache)),), given)


def _threads() -> int:
    return os.cpu_count() or 1


def _library() -> Path:
    """Return the librdkafka in the wheel of confluent-kafka.

    Raises:
        Unavailable: The client is built on another librdkafka, or not installed.
    """
    spec = find_spec("confluent_kafka")
    if spec is not None and spec.origin is not None:
        beside = Path(spec.origin).parents[1] / "confluent_kafka.libs"
        for library in sorted(beside.glob("librdkafka*.so*")):
            return library
    raise Unavailable("the wheel of confluent-kafka contains no librdkafka on this platform")


def _program(cache: Path) -> Path:
    """Return the path of the compiled program; a change of source or library changes it."""
    made = hashlib.sha256(b"".join(source.read_bytes() for source in _SOURCES))
    made.update(str(_library()).encode())
    return cache / "peers" / f"limit-{made.hexdigest()[:12]}" / "limit"


PEERS = (Limit(),)
