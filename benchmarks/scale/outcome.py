"""The outcome of a scale run: the suite's outcome of the rounds, and the other measurements."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scale.commits import CommitSize
from benchmarks.scale.growth import Point
from benchmarks.scale.many import ManyPartitions
from benchmarks.suite.figures_file import write_figures
from benchmarks.suite.outcome import Outcome

__all__ = ("GROWTH", "MANY", "RUNS", "ManyCost", "Scale", "StateCost")

RUNS, GROWTH, MANY = "figures.json", "growth.json", "many.json"
"""Files in the folder of a scale run."""


@dataclass
class StateCost:
    """Cost of state.

    Attributes:
        machine: The machine, as returned by `benchmarks.machine`.
        points: Batches on growing state.
        commits: The driver's commits by the number of tasks.
        notes: Further remarks for the reader.
    """

    machine: dict[str, Any]
    points: list[Point] = field(default_factory=list)
    commits: list[CommitSize] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write the figures to a file atomically."""
        write_figures(path, asdict(self))

    @staticmethod
    def load(path: Path) -> StateCost:
        """Read the figures from a file.

        Raises:
            ValueError: The file does not contain such figures.
        """
        try:
            found = json.loads(path.read_text())
            points = [Point(**point) for point in found["points"]]
            commits = [CommitSize(**commit) for commit in found["commits"]]
            return StateCost(found["machine"], points, commits, found["notes"])
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as exc:
            raise ValueError(f"{path} has no figures of a scale run: {exc}") from exc


@dataclass
class ManyCost:
    """Cost of many partitions on a cluster.

    Attributes:
        machine: The machine, as returned by `benchmarks.machine`.
        run: The figures.
    """

    machine: dict[str, Any]
    run: ManyPartitions

    def save(self, path: Path) -> None:
        """Write the figures to a file atomically."""
        write_figures(path, asdict(self))

    @staticmethod
    def load(path: Path) -> ManyCost:
        """Read the figures from a file.

        Raises:
            ValueError: The file does not contain such figures.
        """
        try:
            found = json.loads(path.read_text())
            return ManyCost(found["machine"], ManyPartitions(**found["run"]))
        except (OSError, KeyError, TypeError, json.JSONDecodeError) as exc:
            raise ValueError(f"{path} has no figures of many partitions: {exc}") from exc


@dataclass(frozen=True)
class Scale:
    """All parts of a scale run; a part that was not run is None."""

    runs: Outcome | None
    state: StateCost | None
    many: ManyCost | None = None

    @staticmethod
    def load(folder: Path) -> Scale:
        """Read the parts found in a folder.

        Raises:
            ValueError: The folder has no part, or a file is invalid.
        """
        runs, state, many = folder / RUNS, folder / GROWTH, folder / MANY
        if not any(path.exists() for path in (runs, state, many)):
            raise ValueError(f"{folder} has no {RUNS}, {GROWTH} or {MANY} of a scale run")
        return Scale(
            Outcome.load(runs) if runs.exists() else None,
            StateCost.load(state) if state.exists() else None,
            ManyCost.load(many) if many.exists() else None,
        )
