"""What is to be run, how often and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.suite.peer import Peer
from benchmarks.suite.workload import Workload

__all__ = ("Plan", "batch_of", "ordered")

T = TypeVar("T")
"""Type of what is rotated."""

MOST_BATCH = 90_000
BATCHES = 11
"""A run has at least ten commits after the first."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        records: How many, for every workload; None: as each says.
        rounds: How many times.
        minutes: How long all runs may take; what does not fit is left out, and told.
        lag: Whether to measure lag too, on the first workload.
        files: By workload, the file it is in, for users' own.
        limit_s: How long one run may take.
    """

    workloads: Sequence[Workload]
    peers: Sequence[Peer]
    records: int | None = None
    rounds: int = 3
    minutes: float = 90
    lag: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 300.0

    def records_of(self, workload: Workload, peer: Peer) -> int:
        """Return how many records a run has."""
        wanted = self.records or workload.records
        return min(wanted, peer.most_records or wanted)


def ordered(items: Sequence[T], number: int) -> list[T]:
    """Return the items in the order of one round: each round begins with another."""
    first = number % len(items) if items else 0
    return [*items[first:], *items[:first]]


def batch_of(records: int) -> int:
    """Return how many records a micro-batch has at most."""
    return max(1, min(MOST_BATCH, records // BATCHES))
