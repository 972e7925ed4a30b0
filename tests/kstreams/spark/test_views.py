"""A running app viewed from outside; savepoints, forks and upgrades of real apps."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone

import pytest

from kstreams import (
    INT64,
    TEXT,
    Embedded,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    filter_,
    key_value_store,
)
from kstreams.app import ForkSource, Migration
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import SystemClock
from kstreams.errors import CheckpointMismatchError, TopicRecreatedError
from kstreams.state import Memory
from kstreams_rocksdb import RocksDB
from tests.kstreams.spark.test_app import LINES
from tests.support.spark.bench import (
    COUNTS,
    HALVES,
    TOTALS,
    WORDS,
    Bench,
    Count,
    HalfCount,
    counting,
)

pytestmark = pytest.mark.spark

EXPECTED = Counter(key for key, _ in LINES)
MORE = Topic("more", TEXT, TEXT)


def save(bench: Bench, name: str) -> None:
    checkpoint = Checkpoint.load(home_of(bench.checkpoint))
    Savepoints(checkpoint, checkpoint.log.open()).create(name, SystemClock())


@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
def test_view_follows_running_app(bench: Bench, backend: str) -> None:
    state = Memory() if backend == "memory" else RocksDB(directory=str(bench.home / "local"))
    bench.create(WORDS)
    with bench.app(counting(), state=state) as app:
        app.open()
        versions: list[int | None] = []
        with View(app, COUNTS) as view:
            for turn in range(1, 4):
                bench.emit(WORDS, LINES)
                app.drain()
                assert dict(view.items()) == {key: n * turn for key, n in EXPECTED.items()}
                versions.append(view.version)
                assert [view.get(key) for key in EXPECTED] == [n * turn for n in EXPECTED.values()]
        with View(bench.checkpoint, COUNTS, as_of=versions[0]) as old:
            assert (old.version, dict(old.items())) == (versions[0], dict(EXPECTED))
    with View(bench.checkpoint, COUNTS) as view:
        assert view.get("k0") == 3 * EXPECTED["k0"]


def test_app_begins_with_fork_and_leaves_original_unchanged(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    save(bench, "before")
    bench.emit(WORDS, LINES)
    bench.run(counting())
    source = f"{bench.checkpoint}@before"
    for _ in range(2):
        bench.run(counting(), app_id="copy", checkpoint=bench.home / "copy", fork=source)
    for path in (bench.checkpoint, bench.home / "copy"):
        with View(path, COUNTS) as view:
            assert dict(view.items()) == {key: 2 * n for key, n in EXPECTED.items()}


def test_fork_with_start_time_has_no_positions_and_reads_topics_from_that_time(
    bench: Bench,
) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    save(bench, "before")
    other = Bench(bench.home / "other", bench.spark)
    other.connection = Embedded(bench.home / "other-topics", durable=False)
    other.create(WORDS)
    when = datetime(2024, 1, 1, tzinfo=timezone.utc)
    ms = int(when.timestamp() * 1000)
    records = [Record("k0", "x", timestamp=ms + n) for n in (-2, -1, 0, 1, 2)]
    other.emit(WORDS, records)
    other.run(counting(), app_id="copy", fork=ForkSource(bench.checkpoint, "before", start=when))
    other.close()
    with View(other.checkpoint, COUNTS) as view:
        assert view.get("k0") == EXPECTED["k0"] + 3
        assert view.get("k1") == EXPECTED["k1"]


def test_recreated_topic_stops_app_and_fork_reads_it(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    save(bench, "before")
    bench.connection.admin().delete(WORDS.name)
    bench.create(WORDS)
    bench.emit(WORDS, [*LINES, *LINES])  # a copy of the records read before, and more
    with pytest.raises(TopicRecreatedError, match="created again") as caught:
        bench.run(counting())
    assert caught.value.where.topic == WORDS.name
    assert "kstreams state fork" in caught.value.hint
    copy, source = bench.home / "copy", f"{bench.checkpoint}@before"
    bench.run(counting(), app_id="copy", checkpoint=copy, fork=source)
    with View(copy, COUNTS) as view:
        assert dict(view.items()) == {key: 2 * n for key, n in EXPECTED.items()}


def next_topology() -> Topology:
    """Return the next version: another source, a store with other values, another group."""
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    kept = builder.add_processor("all", filter_(lambda key, value: True), words)
    count = builder.add_processor("count", HalfCount, kept, stores=[HALVES])
    builder.add_sink("totals", TOTALS, count)
    more = builder.add_source("more", MORE)
    moved = builder.repartition("moved", more, key=TEXT, value=TEXT)
    seen = key_value_store("seen", key=TEXT, value=INT64)
    builder.add_processor("seen", filter_(lambda key, value: True), moved, stores=[seen])
    return builder.build()


def test_app_with_changed_value_serde_starts_only_with_a_migration(bench: Bench) -> None:
    bench.create(WORDS, MORE)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    with pytest.raises(CheckpointMismatchError, match="would be misread: value was int64, now"):
        bench.run(next_topology())
    bench.emit(WORDS, LINES)
    bench.emit(MORE, LINES)
    change = Migration(COUNTS, lambda key, value: value / 2)
    for _ in range(2):
        bench.run(next_topology(), migrate={"counts": change})
    with View(bench.checkpoint, HALVES) as view:
        assert dict(view.items()) == {key: float(n) for key, n in EXPECTED.items()}
    totals = Counter(bench.records(TOTALS))
    assert totals == Counter((key, n + 1) for key in EXPECTED for n in range(2 * EXPECTED[key]))


def test_stateless_change_is_accepted(bench: Bench) -> None:
    bench.create(WORDS)
    bench.emit(WORDS, LINES)
    bench.run(counting())
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    kept = builder.add_processor("all", filter_(lambda key, value: True), words)
    count = builder.add_processor("count", Count, kept, stores=[COUNTS])
    builder.add_sink("again", TOTALS, count)
    bench.emit(WORDS, LINES)
    bench.run(builder.build())
    assert bench.store(builder.build(), COUNTS) == {key: 2 * n for key, n in EXPECTED.items()}
    assert Checkpoint.load(home_of(bench.checkpoint)).epoch_numbers == {}
