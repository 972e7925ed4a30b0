"""A scale run as Markdown: the figures, and the extrapolation to many partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import ceil
from statistics import median
from typing import Any, get_args

from benchmarks.scale.arithmetic import Costs, costs_of
from benchmarks.scale.growth import TOUCHED, Point, Touched
from benchmarks.scale.outcome import ManyCost, Scale, StateCost
from benchmarks.scale.runs import CORES, EXECUTORS, KEYS, NATIVE, PARTITIONS, of_keys
from benchmarks.scale.series import batch_seconds, by_partitions
from benchmarks.suite.outcome import Cell, Outcome, rounds_of
from benchmarks.suite.registry import workload_by
from kstreams.state.log.packs import PACK_BYTES, PART_BYTES
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import HELD_BYTES

__all__ = ("markdown", "sections")

MANY = 1_000
BUSY = 0.7
_RATES = (100_000, 1_000_000)
_SECONDS = (1, 10, 60)
_EXECUTOR_CORES = 4
_MERGE_COUNT = Upkeep().merge_count
_MERGED = 0.14  # objects per task and batch with merged deltas and snapshots
_DELTA_BYTES = 10  # of a delta, per changed key: the tables of state have the bytes of a batch
_DAY_S = 86_400
_PUT_DOLLARS = 5e-6
_RUN_HEADS = ("", "records/s", "least to most", "batch s", "CPU s/M", "memory MB", "first result s")

_MANY_HEADS = (
    "seconds a batch",
    "records/s",
    "cores",
    f"executors of {_EXECUTOR_CORES}",
    "GB each",
    "PUT a day",
    "$ a day",
)
_GROWTH_HEADS = (
    "entries",
    "batch ms",
    "least to most",
    "of the first",
    "CPU ms",
    "PUT",
    "bytes",
    "memory MB",
)


def sections(scale: Scale) -> dict[str, str]:
    """Return the Markdown of each part that was run, by section name; headings have level 3."""
    found: dict[str, Iterable[str]] = {}
    if scale.runs is not None:
        found["runs"] = _runs(scale.runs)
    if scale.state is not None:
        found["state"] = _state(scale.state)
    if scale.many is not None:
        found["many"] = _measured(scale.many)
    costs = None if scale.runs is None else costs_of(scale.runs)
    if costs is not None:
        found["arithmetic"] = _many(costs)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def markdown(scale: Scale) -> str:
    """Return all sections as one text."""
    return "\n\n".join(sections(scale).values()) + "\n"


def _runs(runs: Outcome) -> Iterator[str]:
    yield "### Cores, partitions, keys"
    yield ""
    yield (
        f"{_about(runs.machine)}, {runs.settings.get('started', '')}. W1, 4 partitions and 100,000 "
        f"keys unless a row names others, {rounds_of(runs)}; "
        "every result was read back and checked."
    )
    yield ""
    for note in runs.notes:
        yield f"- {note}"
    if runs.notes:
        yield ""
    yield _row(_RUN_HEADS)
    yield _row(["---", *["---:"] * (len(_RUN_HEADS) - 1)])
    for name, cell in _named(runs):
        yield _row(_run_columns(name, cell))
    yield ""
    for name, cell in _named(runs):
        if cell.reason:
            yield f"- {name}: {' '.join(cell.reason.split())}"
    yield from _memory(runs)
    yield from _past(runs)


def _named(runs: Outcome) -> Iterator[tuple[str, Cell]]:
    usual = workload_by("W1")
    peers = {peer: f"{number} core{'s' if number > 1 else ''}" for number, peer in CORES.items()}
    peers[EXECUTORS] = "two executors of one core, separate processes"
    peers[NATIVE] = "Spark's own window count"
    labels = {usual.of_partitions(n).label: f", {n} partition{'s'[: n > 1]}" for n in PARTITIONS}
    labels |= {of_keys(number).label: f", {number:,} keys" for number in KEYS}
    labels[usual.label] = ""
    for cell in runs.cells:
        who, what = peers.get(cell.peer, cell.peer), labels.get(cell.workload, f", {cell.workload}")
        yield f"{who}{what}", cell


def _run_columns(name: str, cell: Cell) -> Iterator[str]:
    yield name
    rate = cell.of("rate")
    if rate is None:
        yield from ["-"] * (len(_RUN_HEADS) - 1)
        return
    yield f"{rate.median:,.0f}"
    yield f"{rate.least:,.0f} to {rate.most:,.0f}"
    seconds = [each for figures in cell.rounds for each in batch_seconds(figures)]
    yield f"{median(seconds):.2f}" if seconds else "-"
    yield _median(cell, "cpu_s_per_million", 1, 1)
    yield _median(cell, "peak_bytes", 1e6, 0)
    yield _median(cell, "startup_s", 1, 1)


def _memory(runs: Outcome) -> Iterator[str]:
    label = of_keys(KEYS[-1]).label
    cells = {cell.peer: cell.of("peak_bytes") for cell in runs.cells if cell.workload == label}
    ours, native = cells.get(CORES[max(CORES)]), cells.get(NATIVE)
    if ours is not None and native is not None:
        yield (
            f"- Memory with {KEYS[-1]:,} keys: {ours.median / native.median:.2f} times that of "
            "Spark's own job (the goal is at most 1.5)."
        )


def _past(runs: Outcome) -> Iterator[str]:
    """Yield a comparison of early and late batches, which shows whether old windows add cost."""
    rounds = by_partitions(runs).get(4, [])
    seconds = [batch_seconds(figures)[:-1] for figures in rounds]  # the last batch is not full
    third = min((len(each) for each in seconds), default=0) // 3
    if third:
        first = median(s for each in seconds for s in each[:third])
        last = median(s for each in seconds for s in each[-third:])
        yield (
            f"- Past windows: a batch took {first:.2f} s in the first third of the run and "
            f"{last:.2f} s in the last, {last / first:.2f} times as long."
        )
    yield ""


def _state(state: StateCost) -> Iterator[str]:
    yield "### State"
    yield ""
    yield f"{_about(state.machine)}. W2, batches of {TOUCHED:,} records with distinct keys."
    yield ""
    for note in state.notes:
        yield f"- {note}"
    if state.notes:
        yield ""
    for touched in get_args(Touched):
        points = [point for point in state.points if point.touched == touched]
        if points:
            yield from _growth(points, touched)
    if state.commits:
        yield "| tasks of the query | bytes of a commit | written in ms |"
        yield "| --- | ---: | ---: |"
        for each in state.commits:
            yield f"| {each.tasks:,} | {each.size_bytes:,} | {each.append_ms:.1f} |"
        yield ""


def _growth(points: Sequence[Point], touched: Touched) -> Iterator[str]:
    first = points[0]
    same = touched == "same"
    yield f"Batches change {'the same keys each time' if same else 'keys drawn from all keys'}:"
    yield ""
    yield _row(_GROWTH_HEADS)
    yield _row(["---", *["---:"] * (len(_GROWTH_HEADS) - 1)])
    for point in points:
        low, high = 1000 * min(point.batch_s), 1000 * max(point.batch_s)
        yield (
            f"| {point.entries:,} | {1000 * point.median_s:,.0f} | {low:,.0f} to {high:,.0f} "
            f"| {point.median_s / first.median_s:.2f} | {1000 * point.cpu_s:,.0f} "
            f"| {point.puts:.1f} | {point.put_bytes:,.0f} | {point.peak_bytes / 1e6:,.0f} |"
        )
    yield ""


def _measured(many: ManyCost) -> Iterator[str]:
    run = many.run
    yield f"### {run.partitions:,} partitions"
    yield ""
    yield (
        f"{_about(many.machine)}. On a Spark cluster: a master, two workers of a core and a "
        "driver on machines that share no files, the checkpoint on an S3 server; all of them on "
        f"this one machine. A count by key, batches of {run.records:,} records of all partitions."
    )
    yield ""
    yield "| | |"
    yield "| --- | ---: |"
    first = "first commit of a new app, from the start of Spark's session"
    yield f"| {first} | {run.first_s:.1f} s |"
    yield f"| a batch | {run.batch_s:.1f} s |"
    yield f"| processor time of a batch, without broker and storage | {run.cpu_s:.1f} s |"
    yield f"| objects written by a batch | {run.puts:,.0f} |"
    empty = f"for comparison, a job of {run.partitions:,} empty Python tasks"
    yield f"| {empty} | {run.empty_s:.1f} s |"
    yield f"| first commit on machines without state, all restored | {run.restore_s:.1f} s |"
    yield f"| peak memory of the driver's Python | {run.python_bytes / 1e6:,.0f} MB |"
    yield f"| peak memory of the driver's JVM | {run.jvm_bytes / 1e6:,.0f} MB |"
    yield ""


def _many(costs: Costs) -> Iterator[str]:
    yield "### Other rates, by arithmetic"
    yield ""
    yield (
        f"By a straight line through the runs above, a partition costs "
        f"{1000 * costs.task_core_s:.0f} core ms a batch and {costs.partition_bytes / 1e6:.1f} MB, "
        f"a record {1e6 * costs.record_core_s:.1f} core us, fixed costs included, and a core "
        f"{costs.core_bytes / 1e6:,.0f} MB. With records of all {MANY:,} partitions in each batch, "
        f"and cores that are busy {BUSY:.0%} of the time:"
    )
    yield ""
    yield _row(_MANY_HEADS)
    yield _row(["---", *["---:"] * (len(_MANY_HEADS) - 1)])
    for every, rate in product(_SECONDS, _RATES):
        yield _row(_many_columns(costs, every, rate))
    yield ""


def _many_columns(costs: Costs, every: int, rate: int) -> Iterator[str]:
    cores = costs.cores(MANY, rate, every, BUSY)
    executors = ceil(cores / _EXECUTOR_CORES)
    memory = costs.memory_bytes(MANY / executors, _EXECUTOR_CORES)
    puts = (_written(cores, rate * every) + 1) * _DAY_S / every
    yield f"{every}"
    yield f"{rate:,}"
    yield f"{cores:,.0f}"
    yield f"{executors}"
    yield f"{memory / 1e9:.1f}"
    yield f"{puts / 1e6:,.2f} M"
    yield f"{puts * _PUT_DOLLARS:,.2f}"


def _written(cores: float, records: int) -> float:
    """Return the number of objects that workers write for a batch: packs, large deltas, merges."""
    delta_bytes = records / MANY * _DELTA_BYTES
    packs = max(cores, MANY * delta_bytes / PACK_BYTES)
    deltas = packs if delta_bytes <= PART_BYTES else MANY
    return deltas + (_MERGED * MANY if delta_bytes * _MERGE_COUNT > HELD_BYTES else 0)


def _about(machine: dict[str, Any]) -> str:
    return (
        f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"load {machine['load']} at the start and {machine.get('load_after', '?')} at the end"
    )


def _median(cell: Cell, name: str, unit: float, digits: int) -> str:
    found = cell.of(name)
    return "-" if found is None else f"{found.median / unit:,.{digits}f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
