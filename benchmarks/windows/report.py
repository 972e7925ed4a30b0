"""Figures of windowed aggregation as text: a table, bars, and the growth of cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.windows.figures import Figures

__all__ = ("bars", "cost_us", "growth", "head", "row")

_HEADS = ("records/s", "per CPU s", "p50 ms", "p99 ms", "results", "dropped", "B/key")
_NAME = 44
_BAR = 50


def head() -> str:
    """Return the header of the table."""
    return f"{'':{_NAME}}" + "".join(f"{name:>11}" for name in _HEADS)


def row(found: Figures) -> str:
    """Return a row of the table."""
    cpu = "" if found.records_per_cpu_s is None else f"{found.records_per_cpu_s:,}"
    return (
        f"{found.case.name:{_NAME}}{found.records_per_s:11,}{cpu:>11}"
        f"{found.percentile(50):11.1f}{found.percentile(99):11.1f}{found.results:11,}"
        f"{found.dropped:11,}{found.state_bytes_per_key:11.1f}"
    )


def bars(figures: Sequence[Figures]) -> str:
    """Return rates as bars on a logarithmic scale: a full width is ten times the previous one."""
    most = max((found.records_per_s for found in figures), default=1)
    lines = []
    for found in figures:
        share = max(np.log10(max(found.records_per_s, 1)) - np.log10(most) + 3, 0) / 3
        bar = "█" * round(_BAR * share)
        lines.append(f"{found.case.name:{_NAME}}{bar:{_BAR}} {found.records_per_s:,}/s")
    return "\n".join([f"records/s, of {most / 1000:,.0f} to {most:,} in three decades", *lines])


def cost_us(found: Figures) -> list[float]:
    """Return the cost of a record in each batch, in microseconds; CPU time if known."""
    times = found.batch_cpu_ms or found.batch_ms
    return [round(1000 * ms / found.case.batch, 3) for ms in times]


def growth(found: Figures) -> str:
    """Return a text with the change of a record's cost from early to late batches."""
    costs = np.array(cost_us(found))
    third = max(len(costs) // 3, 1)
    low, high = float(np.median(costs[:third])), float(np.median(costs[-third:]))
    line = "".join("▁▂▃▄▅▆▇█"[min(int(cost / costs.max() * 8), 7)] for cost in costs)
    return (
        f"{found.case.name:{_NAME}}{line}  {low:.2f} us a record in the first third, "
        f"{high:.2f} us in the last ({high / low:.2f} times)"
    )
