"""A table added to an app that has run: it is read first, and logged."""

from __future__ import annotations

import logging

import pytest

from kstreams import TEXT, Record, Topic, Topology, TopologyBuilder, timestamped_store
from kstreams.joins import left
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, Count, counting

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

USERS = Topic("users", TEXT, TEXT)
NAMED = Topic("named", TEXT, TEXT)
NAMES = [f"user-{number}" for number in range(50)]


def joined() -> Topology:
    """Count as before, and add the name of each word's user."""
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("count", Count, words, stores=[COUNTS])
    )
    store = timestamped_store("users", key=TEXT, value=TEXT)
    users = builder.add_table("users", USERS, store=store)
    named = builder.join_table("named", words, users, left(lambda word, name: f"{name}: {word}"))
    builder.add_sink("out", NAMED, named)
    return builder.build()


def test_added_table_is_read_before_stream_continues(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.create(WORDS, USERS)
    bench.emit(WORDS, [Record(name, "before", 1_000) for name in NAMES])
    bench.run(counting())
    bench.emit(WORDS, [Record(name, "after", 3_000) for name in NAMES])
    bench.emit(USERS, [Record(name, name.upper(), 2_000) for name in NAMES])
    with caplog.at_level(logging.INFO, "kstreams.checkpoint.start.upgrade"):
        bench.run(joined(), max_records_per_batch=20)
    assert "table 'users' is read first: 50 records of topic 'users'" in caplog.text
    assert sorted(bench.records(NAMED)) == sorted((n, f"{n.upper()}: after") for n in NAMES)
    assert bench.store(joined(), COUNTS) == dict.fromkeys(NAMES, 2)
