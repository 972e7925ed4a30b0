"""Workloads that are planned, and what they wait for."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.suite.outcome import Outcome

__all__ = ("PLANNED", "Planned", "note_planned")


@dataclass(frozen=True)
class Planned:
    """A workload that nobody can run yet.

    Args:
        name: What the command line will call it.
        title: One line about it.
        reason: What is not there.
    """

    name: str
    title: str
    reason: str


PLANNED = (Planned("W5", "stream-table enrichment, then tumbling count", "there are no joins yet"),)


def note_planned(outcome: Outcome) -> None:
    """Give what nobody can run yet a dash for each peer, and the reason."""
    for planned in PLANNED:
        outcome.workloads[planned.name] = planned.title
        for peer in outcome.peers:
            outcome.cell(planned.name, peer).reason = planned.reason
