"""Limits of a topic, checked equally for single records and tables."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.errors import RecordRefusedError
from kstreams.raw_batch import OUTPUT_SCHEMA, headers_array
from kstreams.record import Headers, Record
from kstreams.topic_limits import NO_LIMITS, TopicLimits

Raw = Record["bytes | None", "bytes | None"]
WALL_MS = 10_000

data = st.none() | st.binary(max_size=30)
names = st.text(st.characters(codec="utf-8"), max_size=5) | st.just("a\0b")
headers = st.lists(st.tuples(names, data), max_size=3).map(tuple)
records = st.builds(Record, data, data, st.integers(-20_000, 40_000), headers)
limits = st.builds(
    TopicLimits,
    least_time=st.none() | st.integers(-10, 10),
    before_ms=st.none() | st.integers(0, 9_000),
    after_ms=st.none() | st.integers(0, 9_000),
    max_bytes=st.none() | st.integers(512, 600),
    needs_key=st.booleans(),
    plain_names=st.booleans(),
)


def table_of(rows: list[Raw]) -> pa.Table:
    columns = [
        pa.array(["out"] * len(rows), pa.string()),
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value for row in rows], pa.binary()),
        pa.array([row.timestamp for row in rows], pa.int64()),
        headers_array([row.headers for row in rows]),
    ]
    return pa.Table.from_arrays(columns, schema=OUTPUT_SCHEMA)


def is_refused(limits: TopicLimits, record: Raw) -> bool:
    try:
        limits.check(record, WALL_MS)
    except RecordRefusedError:
        return True
    return False


@given(limits, st.lists(records, max_size=6))
def test_topic_limits_refuse_same_rows_of_table_as_single_rows(
    limits: TopicLimits, rows: list[Raw]
) -> None:
    found = limits.refused(table_of(rows), WALL_MS)
    refused = [False] * len(rows) if found is None else found.tolist()
    assert refused == [is_refused(limits, row) for row in rows]


@pytest.mark.long
@given(st.lists(records, min_size=2, max_size=6), st.integers(1, 3))
def test_topic_limits_check_only_rows_of_sliced_table(rows: list[Raw], start: int) -> None:
    limits = TopicLimits(after_ms=0, max_bytes=550, plain_names=True)
    found = limits.refused(table_of(rows).slice(start), WALL_MS)
    refused = [False] * len(rows[start:]) if found is None else found.tolist()
    assert refused == [is_refused(limits, row) for row in rows[start:]]


BIG: Headers = (("name", b"x" * 200),)


@pytest.mark.parametrize(
    ("limits", "record", "text", "hint"),
    [
        (TopicLimits(least_time=1), Record(b"k", b"", 0), "0 ms is before 1 ms", "event time"),
        (TopicLimits(after_ms=5), Record(b"k", b"", 10_006), "ahead of", "after.max.ms"),
        (TopicLimits(before_ms=5), Record(b"k", b"", 9_994), "before the clock", "before.max.ms"),
        (TopicLimits(max_bytes=600), Record(b"k", b"", 1, BIG), "larger", "max.message.bytes"),
        (TopicLimits(needs_key=True), Record(None, b"", 1), "without a key", "cleanup.policy"),
        (
            TopicLimits(plain_names=True),
            Record(b"", b"", 1, (("\0", b""),)),
            "null character",
            "null character",
        ),
    ],
    ids=["first time", "ahead", "before", "size", "key", "NUL"],
)
def test_error_of_rejected_record_names_limit_and_has_hint(
    limits: TopicLimits, record: Raw, text: str, hint: str
) -> None:
    with pytest.raises(RecordRefusedError, match=text) as caught:
        limits.check(record, WALL_MS)
    assert hint in caught.value.hint
    assert caught.value.code
    NO_LIMITS.check(record, WALL_MS)
