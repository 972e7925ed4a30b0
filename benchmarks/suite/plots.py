"""Plots of an outcome: bars per workload, the time of batches, throughput by keys."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.suite.outcome import Cell, Outcome

__all__ = ("figure", "plot")

_OURS, _OTHERS = "#1f6fb4", "#9aa5b1"
_BATCHED = ("kstreams", "spark")
"""Name prefixes of the peers that work in micro-batches."""


def plot(outcome: Outcome, folder: Path, *, batches: bool = True) -> list[Path]:
    """Draw a PNG per workload into a folder; return the files.

    Args:
        outcome: The outcome.
        folder: The folder of the files.
        batches: Whether to draw the time of batches, too.

    Raises:
        ImportError: matplotlib is not installed; `make setup` installs it.
    """
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for workload, title in outcome.workloads.items():
        cells = [cell for cell in outcome.cells if cell.workload == workload and cell.rounds]
        if cells:
            made.append(folder / f"{workload.lower()}.png")
            _bars(cells, f"{workload}: {title}", outcome, made[-1])
        batched = [cell for cell in cells if cell.peer.startswith(_BATCHED)]
        if batches and batched:
            made.append(folder / f"{workload.lower()}-batches.png")
            _batches(batched, f"{workload}: {title}", made[-1])
    for name, peers in _by_keys(outcome).items():
        made.append(folder / f"{name.lower()}-keys.png")
        _keys(peers, f"{name}: throughput against number of keys", made[-1])
    return made


def _bars(cells: list[Cell], title: str, outcome: Outcome, path: Path) -> None:
    drawn, axes = figure(title, 1.2 + 0.42 * len(cells))
    spreads = [found for cell in cells if (found := cell.of("rate"))]
    names = [cell.peer for cell in cells]
    middle = [found.median / 1000 for found in spreads]
    below = [(found.median - found.least) / 1000 for found in spreads]
    above = [(found.most - found.median) / 1000 for found in spreads]
    colours = [_OURS if name.startswith("kstreams") else _OTHERS for name in names]
    axes.barh(names, middle, xerr=[below, above], color=colours, ecolor="#333333", capsize=3)
    for place, (value, spread) in enumerate(zip(middle, above, strict=True)):
        axes.text(value + spread, place, f"  {value:,.1f}", va="center", fontweight="bold")
    axes.margins(x=0.12)
    axes.invert_yaxis()
    about = outcome.machine
    axes.set_xlabel(
        f"thousand records/s, median with least and most; {about['cores']} cores, {about['cpu']}"
    )
    drawn.savefig(path, dpi=130)


def _batches(cells: list[Cell], title: str, path: Path) -> None:
    """Draw the time per batch over the run; horizontal lines mean that old windows add no cost."""
    drawn, axes = figure(f"{title}: time from commit to commit", 4)
    for cell in cells:
        points = cell.rounds[-1].progress
        done = [later[1] / 1000 for _, later in pairwise(points)]
        seconds = [later[0] - earlier[0] for earlier, later in pairwise(points)]
        axes.plot(done, seconds, marker="o", label=cell.peer)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("thousand records done, and so their windows passed")
    axes.set_ylabel("seconds")
    axes.legend(frameon=False)
    drawn.savefig(path, dpi=130)


def _by_keys(outcome: Outcome) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return the throughput at each number of keys, by workload and peer."""
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for cell in outcome.cells:
        matched = re.fullmatch(r"(.*)-(\d+)-keys", cell.workload)
        rate = cell.of("rate")
        if matched and rate:
            peers = found.setdefault(matched[1], {})
            peers.setdefault(cell.peer, []).append((int(matched[2]), rate.median / 1000))
    return found


def _keys(peers: dict[str, list[tuple[int, float]]], title: str, path: Path) -> None:
    drawn, axes = figure(title, 4)
    for peer, points in peers.items():
        keys, rates = zip(*sorted(points), strict=True)
        axes.plot(keys, rates, marker="o", label=peer)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("keys")
    axes.set_ylabel("thousand records/s")
    axes.legend(frameon=False)
    drawn.savefig(path, dpi=130)


def figure(title: str, height: float) -> tuple[Any, Any]:
    """Return a matplotlib figure with this height in inches, and its axes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, height), layout="constrained")
    axes = drawn.subplots()
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return drawn, axes
