"""What is to be run, how often and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from benchmarks.suite.peer import Peer
from benchmarks.suite.workload import Workload

__all__ = ("Pair", "Plan", "batch_of", "ordered")

Pair = tuple[Workload, Peer]

T = TypeVar("T")
"""Type of what is rotated."""

QUICK_RECORDS = 50_000
QUICK_MINUTES = 15.0
MOST_BATCH = 1_000_000
"""The library's default."""
BATCHES = 11
"""A run has at least ten commits after the first."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        pairs: Each workload, with each peer that is to do it.
        records: How many, for every workload; None: as each says.
        shares: How many a peer has of a workload, by both names, where that is not as usual.
        rounds: How many times.
        minutes: How long all runs may take; what does not fit is left out, and told.
        lag: Whether to measure lag too, on the first workload.
        files: By workload, the file it is in, for users' own.
        limit_s: How long one run may take.
    """

    pairs: Sequence[Pair]
    records: int | None = None
    rounds: int = 3
    minutes: float = 90.0
    lag: bool = True
    files: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[tuple[str, str], int] = field(default_factory=dict)
    limit_s: float = 300.0

    def asked(
        self,
        *,
        quick: bool,
        records: int | None = None,
        rounds: int | None = None,
        minutes: float | None = None,
        lag: bool = True,
    ) -> Plan:
        """Return it with what was asked for; None leaves what it has, or what is quick.

        Args:
            quick: One round of few records in a short time, without lags.
            records: See the attributes, here and below.
            rounds: How many times.
            minutes: How long all runs may take.
            lag: Whether to measure it where the plan does.
        """
        return replace(
            self,
            records=records or (QUICK_RECORDS if quick else self.records),
            rounds=rounds or (1 if quick else self.rounds),
            minutes=minutes or (QUICK_MINUTES if quick else self.minutes),
            lag=self.lag and lag and not quick,
        )

    @property
    def workloads(self) -> list[Workload]:
        """Each workload once, in order."""
        return list(dict.fromkeys(workload for workload, _ in self.pairs))

    @property
    def peers(self) -> list[Peer]:
        """Each peer once, in order."""
        return list({peer.name: peer for _, peer in self.pairs}.values())

    def records_of(self, workload: Workload, peer: Peer) -> int:
        """Return how many records a run has."""
        wanted = self.records or self.shares.get((workload.name, peer.name), workload.records)
        return min(wanted, peer.most_records or wanted)


def ordered(items: Sequence[T], number: int) -> list[T]:
    """Return the items in the order of one round: each round begins with another."""
    first = number % len(items) if items else 0
    return [*items[first:], *items[:first]]


def batch_of(records: int) -> int:
    """Return how many records a micro-batch has at most."""
    return max(1, min(MOST_BATCH, records // BATCHES))
