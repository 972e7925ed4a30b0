"""Faust (faust-streaming), with its RocksDB tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.environment import installed, python_of
from benchmarks.suite.peer import Command, Format, Job, Timestamps
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

VERSION = "0.15.3"
_MAIN = Path(__file__).with_name("main.py")
_DURABILITY = Durability("at-least-once", "2.8 s", "RocksDB, changelog topic")


@dataclass(frozen=True)
class Faust:
    """Faust; there is only one configuration."""

    name: str = "faust"
    format: Format = "json"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = True
    most_records: int | None = 100_000
    durability: Durability = _DURABILITY

    @property
    def title(self) -> str:
        return (
            f"faust-streaming {VERSION} with its speed-ups and uvloop, 1 worker, RocksDB tables, "
            "emits every update"
        )

    def refusal(self, workload: Workload) -> str | None:
        if workload.name == "W4":
            return "Faust has no session windows"
        return None if workload.name in ("W1", "W2", "W3") else "not written for Faust"

    def install(self, cache: Path) -> None:
        installed(cache, "faust", [f"faust-streaming[fast,rocksdb,uvloop]=={VERSION}"])

    def command(self, job: Job, cache: Path) -> Command:
        arguments = ("--loop", "uvloop", "worker", "--loglevel", "warn", "--without-web")
        return Command((str(python_of(cache, "faust")), str(_MAIN), *arguments))


PEERS = (Faust(),)
