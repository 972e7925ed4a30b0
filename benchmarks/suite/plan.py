"""The plan of a suite run: pairs of workload and peer, rounds and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from benchmarks.suite.peer import Peer
from benchmarks.suite.workload import Workload

__all__ = ("Pair", "Plan", "batch_of", "ordered")

Pair = tuple[Workload, Peer]

T = TypeVar("T")
"""Type of the rotated items."""

QUICK_RECORDS = 50_000
QUICK_MINUTES = 15.0
MOST_BATCH = 1_000_000
"""The library's default for the maximum number of records per batch."""
BATCHES = 11
"""The number of micro-batches in a run: at least ten commits after the first one."""


@dataclass(frozen=True)
class Plan:
    """The runs of the suite.

    Attributes:
        pairs: Each workload with each of its peers.
        records: The number of records for every workload; None uses the number in the workload.
        shares: The number of records by names of workload and peer, where it differs.
        rounds: The number of rounds.
        minutes: The time limit of all runs; runs that exceed it are skipped and reported.
        lag: Whether to measure the lag, too, on the first workload.
        files: The files of users' own workloads, by workload.
        limit_s: The time limit of one run, in seconds.
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
        """Return the plan with changes; None keeps the plan's value, or that of a quick run.

        Args:
            quick: Whether to run one short round with few records and without lags.
            records: The number of records; see the attributes.
            rounds: The number of rounds.
            minutes: The time limit of all runs.
            lag: Whether to measure the lag if the plan does.
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
        """Return the number of records of a run."""
        wanted = self.records or self.shares.get((workload.name, peer.name), workload.records)
        return min(wanted, peer.most_records or wanted)


def ordered(items: Sequence[T], number: int) -> list[T]:
    """Return the items in the order of one round; each round begins with a different item."""
    first = number % len(items) if items else 0
    return [*items[first:], *items[:first]]


def batch_of(records: int) -> int:
    """Return the maximum number of records of a micro-batch."""
    return max(1, min(MOST_BATCH, records // BATCHES))
