"""Drivers without a lock that hang at a request: one sequence of batches, and no other output."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import pytest

from kstreams.batch import query_driver
from tests.crash.hanging_drivers import Drivers, Hang

HANGS = [
    Hang(moment, kind, batches)
    for moment, kind, batches in product(("before", "after"), ("plan", "commit"), (0, 1, 2))
]
"""The third driver runs enough batches to delete all objects that the first one knows."""


@pytest.fixture(autouse=True)
def sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", 1)


@pytest.mark.parametrize("more", [0, 1, 2, 5])
@pytest.mark.parametrize("hang", HANGS, ids=str)
def test_hanging_driver_is_fenced_after_another_has_continued(
    hang: Hang, more: int, tmp_path: Path
) -> None:
    drivers = Drivers(tmp_path)
    drivers.driver(batches=2)
    older = drivers.driver(hang)
    assert older.hangs
    drivers.driver(batches=more)
    older.resume()
    assert older.fenced or not (more and hang.batches)  # or it starts late, and is the newer one
    drivers.driver(batches=2)
    drivers.check()


CASES = Random(1).sample(list(product(HANGS, HANGS, (0, 1, 4), (False, True))), 180)


@pytest.mark.parametrize(
    ("first", "second", "more", "in_turn"),
    [*CASES[:50], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[50:])],
)
def test_two_hanging_drivers_are_fenced_after_a_third_has_continued(
    first: Hang, second: Hang, more: int, in_turn: bool, tmp_path: Path
) -> None:
    drivers = Drivers(tmp_path)
    drivers.driver(batches=2)
    hung = [drivers.driver(first), drivers.driver(second)]
    drivers.driver(batches=more)
    for older in hung if in_turn else reversed(hung):
        older.resume()
    drivers.driver(batches=2)
    drivers.check()
