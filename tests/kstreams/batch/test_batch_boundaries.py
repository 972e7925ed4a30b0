"""Output of a query over several topics does not depend on the ends of its batches."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
    timestamped_store,
)
from kstreams.joins import left
from kstreams.operators import map_
from tests.support.apps.one_query import WholeQuery

USERS, CLICKS = Topic("users", TEXT, TEXT), Topic("clicks", TEXT, TEXT)
JOINED, SEEN = Topic("joined", TEXT, TEXT), Topic("seen", TEXT, TEXT)
ROWS = timestamped_store("rows", key=TEXT, value=TEXT)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)

Row = tuple[int, str, str | None]
"""Time, key, value."""


class Number(FixedKeyProcessor[str, str, str]):
    """Numbers the records of each key."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, str]) -> None:
        number = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, number)
        self.context.forward(record.with_value(f"{number}: {record.value}"))


def joined_and_numbered() -> Topology:
    """Join clicks with users, and number the results by the first letter of their values."""
    builder = TopologyBuilder("cuts")
    clicks = builder.add_source("clicks", CLICKS)
    users = builder.add_table("users", USERS, store=ROWS)
    named = builder.join_table("named", clicks, users, left(lambda click, user: f"{user} {click}"))
    builder.add_sink("joined", JOINED, named)
    letters = builder.add_processor("letter", map_(lambda key, value: (value[:2], value)), named)
    edge = builder.repartition("by-letter", letters, key=TEXT, value=TEXT)
    numbered = builder.add_processor("number", Number, edge, stores=[COUNTS])
    builder.add_sink("seen", SEEN, numbered)
    return builder.build()


def append(query: WholeQuery, topic: Topic[str, str], rows: list[Row]) -> None:
    log = query.connection.log()
    for partition in range(2):
        own = [row for row in rows if topic.partitioner.partition(row[1].encode(), 2) == partition]
        if own:
            table = pa.table(
                {
                    "timestamp": pa.array([time for time, _, _ in own], pa.int64()),
                    "key": pa.array([key.encode() for _, key, _ in own], pa.binary()),
                    "value": pa.array([v and v.encode() for _, _, v in own], pa.binary()),
                }
            )
            end = log.end_offset(topic.name, partition)
            log.append(topic.name, partition, table, producer=topic.name, batch=end)


def results(users: list[Row], clicks: list[Row], most: int, seed: int = 0) -> dict[str, object]:
    """Return the output with at most `most` records in a batch, and the number of batches."""
    chance = Random(seed)
    with TemporaryDirectory() as home:
        query = WholeQuery(Path(home), joined_and_numbered(), partitions=2, most=most)
        append(query, USERS, users)
        append(query, CLICKS, clicks)
        query.start()
        while query.batch(dies=seed > 0 and chance.random() < 0.1):
            if seed and chance.random() < 0.1:
                query.start()
        assert all(plan.record_count <= most for plan in query.plans)
        return {
            topic.name: [
                (each.partition, each.key, each.value, each.timestamp)
                for each in query.published(topic.name)
            ]
            for topic in (JOINED, SEEN)
        }


TIMES = st.one_of(st.integers(0, 3), st.integers(0, 50), st.integers(0, 10**6))
KEYS = st.sampled_from("abcdefgh")
USER_ROWS = st.lists(st.tuples(TIMES, KEYS, st.sampled_from(["u", "v", None])), max_size=30)
CLICK_ROWS = st.lists(st.tuples(TIMES, KEYS, st.text("xyz", min_size=1, max_size=2)), max_size=30)


@pytest.mark.long
@settings(max_examples=8, deadline=None)
@given(users=USER_ROWS, clicks=CLICK_ROWS, most=st.integers(1, 12), seed=st.integers(0, 9))
def test_output_of_many_batches_equals_output_of_one_batch(
    users: list[Row], clicks: list[Row], most: int, seed: int
) -> None:
    assert results(users, clicks, most, seed) == results(users, clicks, 1_000)


def test_table_loaded_before_stream_is_complete_for_every_record() -> None:
    users: list[Row] = [(n, f"k{n}", "u") for n in range(500)]
    clicks: list[Row] = [(10_000 + n, f"k{n % 500}", "x") for n in range(1_500)]
    found = results(users, clicks, 300)["joined"]
    assert isinstance(found, list)
    assert [value for _, _, value, _ in found] == [b"u x"] * 1_500
