"""A paused app reads nothing, also after a restart; a resumed app reads each record once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from kstreams.checkpoint.pause import pause, resume
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.errors import ExecutionError
from tests.support.spark.bench import TOTALS, WORDS, Bench, counting, expected_totals

pytestmark = pytest.mark.spark

LINES = [(f"k{n % 7}", "x") for n in range(20)]


def test_pause_lasts_through_restarts_and_loses_nothing(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    pause(home_of(bench.checkpoint), "a move", 5)
    bench.emit(WORDS, LINES)
    before = list(bench.reports)
    for _ in range(2):
        with bench.app(counting()) as app:
            app.run(timeout=timedelta(seconds=1))
    assert bench.reports == before
    with pytest.raises(
        ExecutionError, match="is paused, so a run to the end cannot finish: a move"
    ):
        bench.run(counting())
    resume(home_of(bench.checkpoint))
    bench.run(counting())
    assert Counter(bench.records(TOTALS)) == expected_totals([*LINES, *LINES])
    assert bench.reports[-1].totals.nodes["words"].records_in == 2 * len(LINES)
