"""`deduplicate` forwards each id once within a time span."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, TEXT, Record, Serde, Topic, TopologyBuilder
from kstreams.errors.building import TopologyError
from kstreams.operators import by_header, by_key, deduplicate
from kstreams.processors.deduplicate import LatePolicy
from kstreams.testing import TopologyTestDriver

IN = Topic("in", TEXT, TEXT, null_keys="pass")
OUT = Topic("out", TEXT, TEXT, null_keys="pass")
WITHIN = 10
BY_KEY = by_key()


def driver(
    by: Any = BY_KEY,
    id: Serde[Any] = TEXT,  # noqa: A002  # the block's name
    late: LatePolicy = "forward",
) -> TopologyTestDriver:
    builder = TopologyBuilder("dedup")
    source = builder.add_source("in", IN)
    block = deduplicate(by, id=id, within=timedelta(milliseconds=WITHIN), store="seen", late=late)
    builder.add_sink("out", OUT, builder.add_processor("once", block, source))
    return TopologyTestDriver(builder.build(), recreate_processors=True)


def times(driver: TopologyTestDriver, *given_times: int, key: str = "a") -> list[int]:
    """Pipe records of one key in separate batches; return the times of the forwarded records."""
    for time in given_times:
        driver.pipe(IN, key, "v", timestamp=time)
    return [record.timestamp for record in driver.read(OUT)]


def test_deduplicate_forwards_record_once_within_span() -> None:
    with driver() as d:
        assert times(d, 100, 100, 110, 90) == [100]
        assert d.dropped == {"duplicate": 3}
        assert times(d, 111, 121, 122) == [111, 122]


def test_duplicates_within_one_batch_are_dropped() -> None:
    with driver() as d:
        d.pipe_batch(IN, [Record("a", "1", 5), Record("b", "2", 5), Record("a", "3", 6)])
        assert [record.value for record in d.read(OUT)] == ["1", "2"]


def test_deduplicate_drops_repeated_records_within_span() -> None:
    records = [Record(f"k{n % 7}", str(n), 100 + n // 7) for n in range(70)]
    with driver() as d:
        d.pipe_batch(IN, records)
        first = d.read(OUT)
        d.pipe_batch(IN, records)
        assert (len(first), d.read(OUT)) == (7, [])


def test_late_record_with_expired_id_is_forwarded_or_dropped_by_option() -> None:
    with driver() as d:
        times(d, 100)
        assert times(d, 200, key="b") == [200]
        assert times(d, 100) == [100]
        assert times(d, 100) == []  # ids of late records are stored too
        assert d.dropped == {"duplicate": 1}
    with driver(late="drop") as d:
        times(d, 100)
        times(d, 200, key="b")
        assert times(d, 100, 189, 190) == [190]
        assert d.dropped == {"late": 2}


def test_deduplicate_keeps_time_of_newer_record_after_older_duplicate() -> None:
    with driver() as d:
        assert times(d, 100, 50, 105) == [100, 50]


def test_deduplicate_ids_come_from_header_or_function_and_null_ids_are_forwarded() -> None:
    with driver(by_header("id"), BYTES) as d:
        for headers in [(("id", b"1"),), (("id", b"0"), ("id", b"1")), (("id", None),), (), ()]:
            d.pipe(IN, "a", "v", timestamp=5, headers=headers)
        assert [r.headers for r in d.read(OUT)] == [(("id", b"1"),), (("id", None),), (), ()]
    with driver(lambda record: record.value[:1] or None) as d:
        for value in ("x1", "x2", "y", "", ""):
            d.pipe(IN, "a", value, timestamp=5)
        assert [record.value for record in d.read(OUT)] == ["x1", "y", "", ""]


def test_deduplicate_forwards_records_with_null_key() -> None:
    with driver() as d:
        for _ in range(2):
            d.write_bytes("in", None, b"v", timestamp=5)
        d.run()
        assert [record.key for record in d.read(OUT)] == [None, None]
        assert d.dropped == {}


def test_deduplicate_bounds_number_of_stored_ids() -> None:
    with driver() as d:
        for n in range(0, 1000, 5):
            times(d, n, key=f"k{n}")
        (store,) = d.topology.stores
        seen: Any = d.store(store)  # the stores of a topology are untyped
        assert seen.approximate_count() <= 10


def test_deduplicate_rejects_invalid_settings() -> None:
    with pytest.raises(TopologyError, match=r"within is .*, expected 0 or more"):
        deduplicate(by_key(), id=TEXT, within=timedelta(seconds=-1), store="s")
    wrong: Any = "keep"
    with pytest.raises(TopologyError, match="late is 'keep', expected 'forward' or 'drop'"):
        deduplicate(by_key(), id=TEXT, within=timedelta(seconds=1), store="s", late=wrong)


def expected(records: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Model that never removes an id; records too late to decide are left out."""
    forwarded: dict[str, list[int]] = {}
    found = []
    for key, time in records:
        own = forwarded.setdefault(key, [])
        if all(abs(time - before) > WITHIN for before in own):
            own.append(time)
            found.append((key, time))
    return found


@pytest.mark.long
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, WITHIN)), max_size=30))
def test_deduplicate_equals_model_that_never_removes_ids(steps: list[tuple[str, int]]) -> None:
    records, now = [], 100
    for number, (key, back) in enumerate(steps):
        now += number % 4
        records.append((key, now - back))
    with driver() as d:
        for key, time in records:
            d.pipe(IN, key, "v", timestamp=time)
        assert [(r.key, r.timestamp) for r in d.read(OUT)] == expected(records)


def test_deduplicate_store_has_changelog_if_requested() -> None:
    span = timedelta(milliseconds=WITHIN)
    (plain,) = deduplicate(BY_KEY, id=TEXT, within=span, store="seen").stores
    (logged,) = deduplicate(BY_KEY, id=TEXT, within=span, store="seen", changelog="ids").stores
    assert (plain.changelog, logged.changelog) == (None, "ids")
    assert logged == plain.with_changelog("ids")
