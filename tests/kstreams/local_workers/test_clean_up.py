"""The embedded engine cleans up old commits and plans while its next batches run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kstreams import View
from kstreams.batch import query_driver
from kstreams.batch.sweeping import Sweep
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams_cli.verification import Verification
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, counting

pytestmark = pytest.mark.slow

EVERY = 3
BATCHES = 20
RETAINED = 2


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, None)
    yield made
    made.close()


def test_batches_run_during_clean_up_which_deletes_only_unneeded_objects(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, commits_at_end = Sweep.run, list[int]()
    batches: list[int] = []

    def slow(sweep: Sweep, done: int | None, kept: Any) -> None:
        time.sleep(0.3)  # several batches
        real(sweep, done, kept)
        commits_at_end.append(batches[-1] - (done or 0))

    monkeypatch.setattr(Sweep, "run", slow)
    monkeypatch.setattr(query_driver, "_SWEEP_EVERY", EVERY)
    bench.create(WORDS, TOTALS)
    app = bench.app(
        counting(),
        retained_batches=RETAINED,
        on_batch=lambda report: batches.append(report.batch),
    )
    app.open()
    for number in range(BATCHES):
        bench.emit(WORDS, [("a", "x"), (f"k{number}", "x")])
        app.drain()
    app.close()

    assert max(commits_at_end) > 0
    checkpoint = Checkpoint.load(home_of(bench.checkpoint))
    objects = checkpoint.log.open()
    (query,) = checkpoint.queries
    kept = checkpoint.commits(query, objects).batches()
    assert RETAINED <= len(kept) <= RETAINED + 2 * EVERY
    verification = Verification(checkpoint, objects)
    list(verification.parts())
    assert verification.problems == {}
    with View(bench.checkpoint, COUNTS) as view:
        assert dict(view.items()) == {"a": BATCHES} | {f"k{n}": 1 for n in range(BATCHES)}
    bench.emit(WORDS, [("a", "x")])
    bench.run(counting(), retained_batches=RETAINED)
    with View(bench.checkpoint, COUNTS) as view:
        assert view.get("a") == BATCHES + 1
