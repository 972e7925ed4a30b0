"""Comparison of results with the expected ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.suite.dataset import CLOSER
from benchmarks.suite.workload import Expected, ResultKey

__all__ = ("Verdict", "check")

_SHOWN = 3


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check; `problems` is empty if all results are correct."""

    results: int
    problems: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Return whether the results are correct and complete, without additional ones."""
        return not self.problems


def check(
    expected: Expected,
    found: Mapping[ResultKey, tuple[Any, int]],
    *,
    timestamps: bool,
) -> Verdict:
    """Compare results; keys that only advance stream time are ignored.

    Args:
        expected: The expected value and event time by result key.
        found: The last value and timestamp read back, by result key.
        timestamps: Whether timestamps must equal the expected event times.
    """
    own = {key: result for key, result in found.items() if not key[0].startswith(CLOSER)}
    kinds: dict[str, list[str]] = {}
    for key, (value, time) in expected.items():
        if key not in own:
            kinds.setdefault("missing", []).append(f"{key}: {value}")
        elif not _equal(own[key][0], value):
            text = f"{key}: {own[key][0]!r}, expected {value!r}"
            kinds.setdefault("with another value", []).append(text)
        elif timestamps and time is not None and own[key][1] != time:
            text = f"{key}: {own[key][1]}, expected {time}"
            kinds.setdefault("with another timestamp", []).append(text)
    if unknown := [f"{key}: {result[0]}" for key, result in own.items() if key not in expected]:
        kinds["unexpected"] = unknown
    return Verdict(len(own), tuple(_told(kind, cases) for kind, cases in kinds.items()))


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        return isinstance(found, (int, float)) and math.isclose(found, expected, rel_tol=1e-9)
    return bool(found == expected)


def _told(kind: str, cases: Iterable[str]) -> str:
    listed = list(cases)
    return f"{len(listed):,} {kind}, such as " + "; ".join(listed[:_SHOWN])
