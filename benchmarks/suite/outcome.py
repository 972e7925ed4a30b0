"""The outcome of all runs: a cell for each workload and peer, stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from benchmarks.suite.durability import Durability
from benchmarks.suite.figures import Figures
from benchmarks.suite.figures_file import write_figures
from benchmarks.suite.plan import Plan

__all__ = ("Cell", "Lag", "Outcome", "Spread", "rounds_of", "spread")


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of several rounds."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class Lag:
    """The time from a record to the arrival of its result, at a fixed rate; or a failure reason."""

    p50_ms: float | None = None
    p99_ms: float | None = None
    reason: str = ""
    p999_ms: float | None = None


@dataclass
class Cell:
    """Figures of one peer with one workload.

    Attributes:
        rounds: The figures of each round with correct results.
        reason: The reason for missing rounds.
        lag: The lag, if measured.
    """

    workload: str
    peer: str
    rounds: list[Figures] = field(default_factory=list)
    reason: str = ""
    lag: Lag | None = None

    def of(self, name: str) -> Spread | None:
        """Return the spread of one figure; None without rounds."""
        values = [float(getattr(figures, name)) for figures in self.rounds]
        return spread(values) if values else None


@dataclass
class Outcome:
    """All cells, with the machine and the settings.

    Attributes:
        machine: The machine, as returned by `benchmarks.machine`.
        settings: The settings of the run.
        workloads: Titles of workloads by name, in order.
        peers: Titles of peers by name, in order.
        durability: Guarantees, commits and state by peer; empty in files of earlier versions.
        notes: Further remarks for the reader: skipped rounds, peers that are not installed.
    """

    machine: dict[str, Any]
    settings: dict[str, Any]
    workloads: dict[str, str]
    peers: dict[str, str]
    cells: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    durability: dict[str, Durability] = field(default_factory=dict)

    def cell(self, workload: str, peer: str) -> Cell:
        """Return the cell of a workload and peer; adds a new cell if there is none."""
        for cell in self.cells:
            if (cell.workload, cell.peer) == (workload, peer):
                return cell
        made = Cell(workload, peer)
        self.cells.append(made)
        return made

    @staticmethod
    def of(plan: Plan, started: datetime, command: str = "") -> Outcome:
        """Return the initial outcome of a plan, without cells.

        Args:
            plan: The plan.
            started: The time of the start.
            command: The command line of the run, if known.
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
            durability={peer.name: peer.durability for peer in plan.peers},
        )

    def save(self, path: Path) -> None:
        """Write the outcome to a file atomically."""
        write_figures(path, asdict(self))

    @staticmethod
    def load(path: Path) -> Outcome:
        """Read an outcome from a file.

        Raises:
            ValueError: The file is not an outcome.
        """
        try:
            found: Mapping[str, Any] = json.loads(path.read_text())
            cells = [_cell(each) for each in found["cells"]]
            kept = {name: Durability(**each) for name, each in found.get("durability", {}).items()}
            return Outcome(**{**found, "cells": cells, "durability": kept})
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
    """Return a text with the number of completed rounds, which may be lower than planned."""
    most = max((len(cell.rounds) for cell in outcome.cells), default=0)
    return "of one round" if most == 1 else f"medians of {most} rounds"
