"""Order between records and tables, and changes of rows without a result."""

from __future__ import annotations

import pytest

from kstreams import TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.emit import each_update, once_per_batch
from kstreams.joins import inner, left
from kstreams.testing import TopologyTestDriver

LEFT, RIGHT = Topic("left", TEXT, TEXT), Topic("right", TEXT, TEXT)
OUT = Topic("out", TEXT, TEXT, nulls="pass")
TEXTS = Topic("texts", TEXT, TEXT)
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)


@pytest.mark.parametrize("partitions", [1, 4])
def test_each_record_of_a_backlog_is_joined_with_newest_older_row_of_its_key(
    partitions: int,
) -> None:
    """The stream is written first; its records are younger than the first rows of the table."""
    builder = TopologyBuilder("t")
    stream = builder.add_source("stream", LEFT)
    table = builder.add_table("table", RIGHT, store=RIGHTS)
    joined = builder.join_table("j", stream, table, left(lambda time, at: f"{time}-{at}"))
    builder.add_sink("out", TEXTS, joined)
    with TopologyTestDriver(builder.build(), partitions=partitions) as driver:
        for time in range(100, 200):
            driver.write(LEFT, f"k{time % 10}", str(time), timestamp=time)
        for time in range(90, 200, 5):
            for key in range(10):
                driver.write(RIGHT, f"k{key}", str(time), timestamp=time)
        driver.run()
        found = [row.value.split("-") for row in driver.read(TEXTS)]
        assert len(found) == 100
        assert [int(at) for _, at in found] == [int(time) // 5 * 5 for time, _ in found]


@pytest.mark.parametrize("each", [True, False])
def test_table_join_forwards_deletion_of_unmatched_row_only_if_it_emits_each_update(
    each: bool,
) -> None:
    builder = TopologyBuilder("t")
    lefts = builder.add_table("l", LEFT, store=LEFTS)
    rights = builder.add_table("r", RIGHT, store=RIGHTS)
    joined = builder.join_tables("j", lefts, rights, inner(lambda one, two: one + two))
    emit = each_update() if each else once_per_batch()
    builder.add_sink("out", OUT, builder.to_stream("s", joined, emit=emit))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "k", "b", timestamp=1)
        driver.write_bytes("left", b"k", None, timestamp=2)
        driver.run()
        assert [row.value for row in driver.read(OUT)] == ([None] if each else [])


def test_nulls_option_of_topic_does_not_drop_deletions_of_table() -> None:
    builder = TopologyBuilder("t")
    dropping = Topic("left", TEXT, TEXT, nulls="drop")
    table = builder.add_table("table", dropping, store=LEFTS)
    builder.add_sink("out", OUT, builder.to_stream("s", table))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(dropping, "k", "a")
        driver.write_bytes("left", b"k", None, timestamp=1)
        driver.run()
        assert [row.value for row in driver.read(OUT)] == ["a", None]
        assert driver.store_contents(LEFTS) == {}
        assert driver.dropped == {}
