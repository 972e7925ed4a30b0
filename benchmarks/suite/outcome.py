"""The outcome of the whole: cells of workload and peer, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from benchmarks.suite.figures import Figures
from benchmarks.suite.figures_file import write_figures
from benchmarks.suite.plan import Plan

__all__ = ("Cell", "Lag", "Outcome", "Spread", "rounds_of", "spread")


@dataclass(frozen=True)
class Spread:
    """Median, least and most of some rounds."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class Lag:
    """From a record's time to its result's arrival, at a steady rate; or why there is none."""

    p50_ms: float | None = None
    p99_ms: float | None = None
    reason: str = ""


@dataclass
class Cell:
    """What a peer did with a workload.

    Attributes:
        rounds: The figures of each round whose results were right.
        reason: Why it has none, or fewer than the others.
        lag: Where it was measured.
    """

    workload: str
    peer: str
    rounds: list[Figures] = field(default_factory=list)
    reason: str = ""
    lag: Lag | None = None

    def of(self, name: str) -> Spread | None:
        """Return the spread of one figure, None without rounds."""
        values = [float(getattr(figures, name)) for figures in self.rounds]
        return spread(values) if values else None


@dataclass
class Outcome:
    """All cells, and what they were measured on.

    Attributes:
        machine: As `benchmarks.machine` tells it.
        settings: What was asked for.
        workloads: Titles by name, in order; peers likewise.
        notes: What a reader must know besides: rounds left out, peers not installed.
    """

    machine: dict[str, Any]
    settings: dict[str, Any]
    workloads: dict[str, str]
    peers: dict[str, str]
    cells: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def cell(self, workload: str, peer: str) -> Cell:
        """Return a cell; a new one if there is none yet."""
        for cell in self.cells:
            if (cell.workload, cell.peer) == (workload, peer):
                return cell
        made = Cell(workload, peer)
        self.cells.append(made)
        return made

    @staticmethod
    def of(plan: Plan, started: datetime, command: str = "") -> Outcome:
        """Return what a plan begins with: no cells yet.

        Args:
            plan: What is to be run.
            started: When.
            command: By which command, if that is known.
        """
        return Outcome(
            machine=machine(),
            settings={
                "started": f"{started:%Y-%m-%d %H:%M} UTC",
                "rounds": plan.rounds,
                "records": plan.records,
                "command": command,
            },
            workloads={workload.label: workload.title for workload in plan.workloads},
            peers={peer.name: peer.title for peer in plan.peers},
        )

    def save(self, path: Path) -> None:
        """Write it; whole or not at all."""
        write_figures(path, asdict(self))

    @staticmethod
    def load(path: Path) -> Outcome:
        """Read it.

        Raises:
            ValueError: The file is no outcome.
        """
        try:
            found: Mapping[str, Any] = json.loads(path.read_text())
            cells = [_cell(each) for each in found["cells"]]
            return Outcome(**{**found, "cells": cells})
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as exc:
            raise ValueError(f"{path} has no figures of this suite: {exc}") from exc


def _cell(found: Mapping[str, Any]) -> Cell:
    lag = Lag(**found["lag"]) if found["lag"] else None
    rounds = [
        Figures(**{**figures, "progress": [tuple(point) for point in figures["progress"]]})
        for figures in found["rounds"]
    ]
    return Cell(found["workload"], found["peer"], rounds, found["reason"], lag)


def rounds_of(outcome: Outcome) -> str:
    """Say of how many rounds the figures are: as many as were run, not as were wanted."""
    most = max((len(cell.rounds) for cell in outcome.cells), default=0)
    return "of one round" if most == 1 else f"medians of {most} rounds"
