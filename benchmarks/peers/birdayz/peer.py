"""birdayz/kstreams: the workloads it supports, and the reason it is not measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite.durability import Durability
from benchmarks.suite.peer import Command, Format, Job, Timestamps, Unavailable
from benchmarks.suite.workload import Workload

__all__ = ("PEERS",)

_REASON = "Go's module proxy gives out no version of github.com/birdayz/kstreams"
_DURABILITY = Durability("at-least-once", "not known", "Pebble, changelog topic")


@dataclass(frozen=True)
class Birdayz:
    """birdayz/kstreams; there is only one configuration."""

    name: str = "birdayz"
    title: str = "birdayz/kstreams (Go)"
    format: Format = "decimal"
    timestamps: Timestamps = "none"
    reports_progress: bool = False
    emits_updates: bool = True
    most_records: int | None = None
    durability: Durability = _DURABILITY

    def refusal(self, workload: Workload) -> str | None:
        if workload.name == "W2":
            return None
        windowed = workload.name[0] == "W"
        return "birdayz/kstreams aggregates no windows" if windowed else "not written for it"

    def install(self, cache: Path) -> None:
        raise Unavailable(_REASON)

    def command(self, job: Job, cache: Path) -> Command:
        raise Unavailable(_REASON)


PEERS = (Birdayz(),)
