"""The outcome as Markdown: a table per workload, with the machine and its load in the header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchmarks.suite.durability import Durability
from benchmarks.suite.figures import ENOUGH_RECORDS, ENOUGH_S
from benchmarks.suite.lag import RATE
from benchmarks.suite.outcome import Cell, Outcome, Spread, rounds_of

__all__ = ("markdown",)

_LIMIT = "limit"
"""The peer whose rate is the limit on this machine."""
_WORDS = ("peer", "delivery", "commit", "state")
_HEADS = (
    "peer",
    "records/s",
    "least to most",
    "of the first",
    "of the limit",
    "delivery",
    "commit",
    "state",
    "records",
    "first result s",
    "memory MB",
    "CPU s/M",
    "broker CPU s/M",
    "state MB",
    "lag p50 / p99 ms",
)


def markdown(outcome: Outcome, *, plots: str | None = None) -> str:
    """Return the outcome as Markdown.

    Args:
        outcome: The outcome.
        plots: The folder of the plots, relative to the text; None omits plots.
    """
    return "\n".join(_lines(outcome, plots)) + "\n"


def _lines(outcome: Outcome, plots: str | None) -> Iterator[str]:
    about, asked = outcome.machine, outcome.settings
    yield "# Results"
    yield ""
    if command := asked.get("command"):
        yield from ("```sh", command, "```", "")
    yield (
        f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, "
        f"load {about['load']} at the start and {about.get('load_after', '?')} at the end, "
        f"{asked.get('started', '')}. Rates are {rounds_of(outcome)}, with peers "
        "rotated; every result was read back and checked before its time was accepted. Records/s "
        "from the end of the warm-up, a tenth of the records, to the last durable result. "
        f"`{_LIMIT}` is a C program without state, where a workload has one. "
        f"Memory: peak PSS of all processes. Lag at {RATE:,} records/s. `benchmarks/README.md` "
        "describes the workloads and the method."
    )
    yield ""
    for note in outcome.notes:
        yield f"- {note}"
    if outcome.notes:
        yield ""
    for workload, title in outcome.workloads.items():
        cells = [cell for cell in outcome.cells if cell.workload == workload]
        if cells:
            drawn = plots is not None and any(cell.rounds for cell in cells)
            picture = f"![{workload}]({plots}/{workload.lower()}.png)" if drawn else ""
            yield from _table(workload, title, cells, picture, outcome.durability)
    yield "## Peers"
    yield ""
    for name, title in outcome.peers.items():
        yield f"- `{name}`: {title}"


def _table(
    workload: str,
    title: str,
    cells: list[Cell],
    picture: str,
    durability: Mapping[str, Durability],
) -> Iterator[str]:
    yield f"## {workload}: {title}"
    yield ""
    if picture:
        yield from (picture, "")
    yield _row(_HEADS)
    yield _row("---" if head in _WORDS else "---:" for head in _HEADS)
    base = next((found for cell in cells if (found := cell.of("rate"))), None)
    limit = next((cell for cell in cells if cell.peer == _LIMIT and not _too_short(cell)), None)
    most = limit.of("rate") if limit else None
    for cell in cells:
        yield _row(_columns(cell, base, most, durability.get(cell.peer)))
    yield ""
    yield from _reasons((cell.peer, cell.reason) for cell in cells)
    yield from _reasons((cell.peer, _too_short(cell)) for cell in cells)
    lags = ((cell.peer, cell.lag.reason) for cell in cells if cell.lag)
    yield from _reasons((peer, reason and f"no lag, {reason}") for peer, reason in lags)
    yield ""


def _reasons(told: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each reason once, with all peers that have it."""
    peers: dict[str, list[str]] = {}
    for peer, reason in told:
        if reason:
            peers.setdefault(" ".join(reason.split()), []).append(f"`{peer}`")
    for reason, names in peers.items():
        yield f"- {', '.join(names)}: {reason}"


def _too_short(cell: Cell) -> str:
    """Return a note if a peer's runs were too short for the rate of a warm peer; else empty."""
    if all(figures.long_enough for figures in cell.rounds):
        return ""
    return (
        f"timed for less than {ENOUGH_S:.0f} s and {ENOUGH_RECORDS:,} records: too short to be "
        "warm, so its rate is not compared"
    )


def _columns(
    cell: Cell, base: Spread | None, limit: Spread | None, durability: Durability | None
) -> Iterator[str]:
    yield cell.peer
    rate = cell.of("rate")
    if rate is None or base is None:
        yield from ["-"] * (len(_HEADS) - 1)
        return
    yield f"{rate.median:,.0f}"
    yield f"{rate.least:,.0f} to {rate.most:,.0f}"
    for whole in (base, limit):
        yield "-" if whole is None or _too_short(cell) else f"{rate.median / whole.median:.2f}"
    yield from _kept(durability)
    yield f"{cell.rounds[0].records:,}"
    yield _median(cell, "startup_s", 1, 1)
    yield _median(cell, "peak_bytes", 1e6, 0)
    yield _median(cell, "cpu_s_per_million", 1, 1)
    yield _median(cell, "broker_cpu_s_per_million", 1, 1)
    yield _median(cell, "state_bytes", 1e6, 1)
    lag = cell.lag
    known = lag is not None and lag.p50_ms is not None
    yield f"{lag.p50_ms:,.0f} / {lag.p99_ms:,.0f}" if lag and known else "-"


def _kept(durability: Durability | None) -> tuple[str, str, str]:
    if durability is None:
        return "-", "-", "-"
    return durability.delivery, durability.commits, durability.state


def _median(cell: Cell, name: str, unit: float, digits: int) -> str:
    found = cell.of(name)
    return "-" if found is None else f"{found.median / unit:,.{digits}f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
