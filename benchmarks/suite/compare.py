"""Comparison of two outcomes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.suite.outcome import Outcome

__all__ = ("compared",)


def compared(before: Outcome, after: Outcome) -> str:
    """Return a table of the cells that both contain: records/s before and after, and the ratio.

    `within` means that each median is within the other outcome's range of rounds, so that the
    difference is not significant.
    """
    return "\n".join(_lines(before, after))


def _lines(before: Outcome, after: Outcome) -> Iterator[str]:
    if before.machine.get("cpu") != after.machine.get("cpu"):
        yield f"other machines: {before.machine.get('cpu')} and {after.machine.get('cpu')}"
    yield f"{'workload':10}{'peer':24}{'before':>12}{'after':>12}{'ratio':>8}"
    known = {(cell.workload, cell.peer): cell for cell in before.cells}
    for cell in after.cells:
        old = known.get((cell.workload, cell.peer))
        one, other = old.of("rate") if old else None, cell.of("rate")
        if one is None or other is None:
            continue
        same = one.least <= other.median <= one.most or other.least <= one.median <= other.most
        yield (
            f"{cell.workload:10}{cell.peer:24}{one.median:12,.0f}{other.median:12,.0f}"
            f"{other.median / one.median:8.2f}{'  within' if same else ''}"
        )
