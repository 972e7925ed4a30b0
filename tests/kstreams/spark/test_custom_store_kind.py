"""A custom store kind on Spark: run, viewed, forked, upgraded and restored."""

from __future__ import annotations

from collections import Counter

import pytest

from kstreams import Record, Topology, View
from kstreams.app import ForkSource, Migration
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB
from tests.kstreams.state.stores.test_custom_kind import GAMES, RANKS, SCORES, ranking
from tests.support.spark.bench import Bench
from tests.support.storage.custom_store_kind import by_score, rank, sorted_set

pytestmark = pytest.mark.spark

RESULTS = [Record(f"m{n % 40}", float(n % 7), n) for n in range(600)]
TOTALS = {f"m{m}": float(sum(n % 7 for n in range(600) if n % 40 == m)) for m in range(40)}


def on_driver(topology: Topology) -> Counter[tuple[str, int]]:
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.pipe_batch(GAMES, RESULTS)
        return Counter((record.key, record.value) for record in driver.read(RANKS))


def test_custom_store_is_run_viewed_saved_forked_and_upgraded(bench: Bench) -> None:
    logged = SCORES.with_changelog("scores-log")
    bench.create(GAMES, RANKS)
    bench.emit(GAMES, RESULTS)
    bench.run(ranking(logged), state=RocksDB(directory=str(bench.home / "local")))
    assert Counter(bench.records(RANKS)) == on_driver(ranking(SCORES))
    assert bench.store(ranking(logged), logged) == TOTALS
    order = sorted(TOTALS, key=lambda member: (TOTALS[member], member))
    with View(bench.checkpoint, logged) as view:
        assert dict(view.items()) == TOTALS
        assert [rank(view, member) for member in order] == list(range(40))
        assert set(by_score(view, -1, 1000)) == set(TOTALS)
    last = {record.key: record.value for record in bench.raw("scores-log")}
    assert {key.decode() for key in last if key is not None} == set(TOTALS)

    checkpoint = Checkpoint.load(home_of(bench.checkpoint))
    Savepoints(checkpoint, checkpoint.log.open()).create("monday", SystemClock())
    copy = bench.home / "copy"
    fork = ForkSource(bench.checkpoint, "monday")
    bench.run(ranking(logged), app_id="copy", checkpoint=copy, fork=fork)
    with View(copy, logged) as view:
        assert dict(view.items()) == TOTALS

    points = sorted_set("points", member=logged.key)
    migrate = {"points": Migration(logged, lambda member, score: -score)}
    bench.run(ranking(points), migrate=migrate)
    with View(bench.checkpoint, points) as view:
        assert dict(view.items()) == {member: -score for member, score in TOTALS.items()}
        assert {rank(view, member) for member in order} == set(range(40))
