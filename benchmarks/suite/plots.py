"""The outcome as pictures: bars of each workload."""

from __future__ import annotations

from pathlib import Path

from benchmarks.suite.outcome import Cell, Outcome

__all__ = ("plot",)

_OURS, _OTHERS = "#1f6fb4", "#9aa5b1"


def plot(outcome: Outcome, folder: Path) -> list[Path]:
    """Draw a PNG a workload into a folder; return the files.

    Raises:
        ImportError: matplotlib is not installed; `make setup` brings it.
    """
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for workload, title in outcome.workloads.items():
        cells = [cell for cell in outcome.cells if cell.workload == workload and cell.rounds]
        if cells:
            path = folder / f"{workload.lower()}.png"
            _bars(cells, f"{workload}: {title}", outcome, path)
            made.append(path)
    return made


def _bars(cells: list[Cell], title: str, outcome: Outcome, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.42 * len(cells)), layout="constrained")
    axes = figure.subplots()
    spreads = [found for cell in cells if (found := cell.of("rate"))]
    names = [cell.peer for cell in cells]
    middle = [found.median / 1000 for found in spreads]
    below = [(found.median - found.least) / 1000 for found in spreads]
    above = [(found.most - found.median) / 1000 for found in spreads]
    colours = [_OURS if name.startswith("kstreams") else _OTHERS for name in names]
    axes.barh(names, middle, xerr=[below, above], color=colours, ecolor="#333333", capsize=3)
    for place, value in enumerate(middle):
        axes.text(0, place, f"  {value:,.1f}", va="center", color="white", fontweight="bold")
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    about = outcome.machine
    axes.set_xlabel(
        f"thousand records/s, median with least and most; {about['cores']} cores, {about['cpu']}"
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
