"""Figures of windowed aggregation as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from benchmarks.windows.figures import Figures
from benchmarks.windows.report import cost_us

__all__ = ("plot",)

mpl.use("Agg")  # works without a display


def plot(figures: Sequence[Figures], past: Sequence[Figures], file: Path) -> None:
    """Draw rates as bars, one panel for each engine and execution, and costs as lines."""
    panels: dict[tuple[str, str], list[Figures]] = {}
    for found in figures:
        panels.setdefault((found.case.engine, found.case.execution), []).append(found)
    heights = [max(1.2, 0.22 * len(own)) for own in panels.values()]
    rows = len(panels) + bool(past)
    figure, axes = plt.subplots(
        rows,
        1,
        figsize=(11, sum(heights) + 3 * bool(past) + rows),
        height_ratios=[*heights, *([3.0] if past else [])],
        squeeze=False,
        layout="constrained",
    )
    for axis, ((engine, execution), own) in zip(axes[:, 0], panels.items(), strict=False):
        _bars(axis, f"{engine}, {execution}", own)
    if past:
        _lines(axes[-1, 0], past)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _bars(axis: Axes, title: str, figures: Sequence[Figures]) -> None:
    places = np.arange(len(figures))
    axis.barh(places, [found.records_per_s for found in figures], height=0.7)
    axis.set_yticks(places, [found.case.name for found in figures], fontsize=7)
    axis.margins(y=0.01)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("records/s by the wall clock")
    axis.set_title(title)
    axis.grid(axis="x", alpha=0.4)


def _lines(axis: Axes, past: Sequence[Figures]) -> None:
    for found in past:
        axis.plot(cost_us(found), marker=".", label=f"past windows {found.case.name}")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("batch")
    axis.set_ylabel("us of CPU time a record")
    axis.set_title("Cost of a record while windows go by")
    axis.legend()
    axis.grid(alpha=0.4)
