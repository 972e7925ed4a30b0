"""Rounds of workload W1 (tumbling count), grouped by the number of cores, partitions or keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from benchmarks.scale.runs import CORES, KEYS, PARTITIONS, of_keys
from benchmarks.suite.figures import Figures
from benchmarks.suite.outcome import Outcome
from benchmarks.suite.registry import workload_by

__all__ = ("Series", "batch_seconds", "by_cores", "by_keys", "by_partitions")

Series = dict[int, list[Figures]]
"""The available rounds by the value of the varied parameter."""

ALL_CORES = CORES[max(CORES)]


def by_cores(runs: Outcome) -> Series:
    """Return rounds by the number of cores."""
    return _found(runs, {number: ("W1", peer) for number, peer in CORES.items()})


def by_partitions(runs: Outcome) -> Series:
    """Return rounds by the number of partitions."""
    usual = workload_by("W1")
    return _found(runs, {n: (usual.of_partitions(n).label, ALL_CORES) for n in PARTITIONS})


def by_keys(runs: Outcome) -> Series:
    """Return rounds by the number of keys."""
    return _found(runs, {n: (of_keys(n).label, ALL_CORES) for n in KEYS})


def batch_seconds(figures: Figures) -> list[float]:
    """Return the time between commits, for each batch except the first."""
    return [later - earlier for (earlier, _), (later, _) in pairwise(figures.progress)]


def _found(runs: Outcome, names: Mapping[int, tuple[str, str]]) -> Series:
    cells = {(cell.workload, cell.peer): cell.rounds for cell in runs.cells}
    found = {number: cells.get(name, []) for number, name in names.items()}
    return {number: rounds for number, rounds in found.items() if rounds}
