"""Plots of a scale run: cores, partitions, keys, past windows, state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from benchmarks.scale.growth import TOUCHED, Point, Touched
from benchmarks.scale.outcome import Scale
from benchmarks.scale.series import Series, batch_seconds, by_cores, by_keys, by_partitions
from benchmarks.suite.clicks import GAP_MS
from benchmarks.suite.figures import Figures
from benchmarks.suite.plots import figure

__all__ = ("plot",)

WINDOW_MS = 10_000
_DPI = 130


def plot(scale: Scale, folder: Path) -> list[Path]:
    """Draw the figures into a folder; return the files.

    Raises:
        ImportError: matplotlib is not installed; `make setup` installs it.
    """
    made: list[Path] = []
    if scale.runs is not None:
        over = by_partitions(scale.runs)
        made += _rates(by_cores(scale.runs), "cores", folder)
        made += _rates(over, "partitions", folder)
        made += _rates(by_keys(scale.runs), "keys", folder)
        made += _past(over.get(4, []), folder)
    if scale.state is not None and scale.state.points:
        made.append(_state(scale.state.points, folder))
    return made


def _rates(rounds: Series, what: str, folder: Path) -> list[Path]:
    if len(rounds) < 2:
        return []
    drawn, axes = figure(f"W1: throughput against {what}", 4)
    rates = [[each.rate / 1000 for each in found] for found in rounds.values()]
    middle = [sorted(found)[len(found) // 2] for found in rates]
    axes.plot(list(rounds), middle, marker="o")
    axes.fill_between(list(rounds), [min(r) for r in rates], [max(r) for r in rates], alpha=0.2)
    axes.set_xscale("log", base=10 if what == "keys" else 2)
    axes.set_xticks(list(rounds), [f"{number:,}" for number in rounds])
    axes.set_ylim(bottom=0)
    axes.set_xlabel(what)
    axes.set_ylabel("thousand records/s")
    return [_saved(drawn, folder / f"{what}.png")]


def _past(rounds: Sequence[Figures], folder: Path) -> list[Path]:
    if not rounds:
        return []
    drawn, axes = figure("W1: time from commit to commit, against past windows", 4)
    for number, figures in enumerate(rounds, 1):
        windows = [done * GAP_MS / WINDOW_MS for _, done in figures.progress[1:-1]]
        axes.plot(windows, batch_seconds(figures)[:-1], marker="o", label=f"round {number}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("10 s windows that have passed, each of thousands of keys")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)
    return [_saved(drawn, folder / "past-windows.png")]


def _state(points: Sequence[Point], folder: Path) -> Path:
    drawn, axes = figure(f"W2: a batch of {TOUCHED:,} records against stored keys", 4)
    for touched in get_args(Touched):
        own = [point for point in points if point.touched == touched]
        entries = [point.entries for point in own]
        axes.plot(entries, [point.median_s for point in own], marker="o", label=f"{touched} keys")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("keys stored")
    axes.set_ylabel("seconds from commit to commit, median")
    axes.legend(frameon=False)
    return _saved(drawn, folder / "state.png")


def _saved(drawn: Any, path: Path) -> Path:
    drawn.savefig(path, dpi=_DPI)
    return path
