"""Suppression: until windows close, until a time limit, with bounds."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, TopologyError
from kstreams.errors import ProcessingError
from kstreams.state.buffer_store import buffer_store
from kstreams.state.key_value import key_value_store
from kstreams.testing.driver import TopologyTestDriver
from kstreams.windows import milliseconds, suppress, until_time_limit

SOURCE: Topic[str, Any] = Topic("in", TEXT, INT64, nulls="pass")
SINK: Topic[str, Any] = Topic("out", TEXT, INT64, nulls="pass")
HELD: Any = buffer_store("held", key=TEXT, value=INT64)


def driver_of(until: Any, *, recreate: bool = True) -> TopologyTestDriver:
    builder = TopologyBuilder("suppress")
    records = builder.add_source("in", SOURCE)
    held: Any = builder.add_processor("held", suppress(until, store=HELD), records)
    builder.add_sink("out", SINK, held)
    return TopologyTestDriver(builder.build(), recreate_processors=recreate)


def steps(driver: TopologyTestDriver, *rows: tuple[str, int | None, int]) -> list[list[Any]]:
    found = []
    for key, value, timestamp in rows:
        driver.pipe(SOURCE, key, value, timestamp=timestamp)
        found.append([(r.key, r.value, r.timestamp) for r in driver.read(SINK)])
    return found


@pytest.mark.parametrize("recreate", [True, False])
def test_the_timer_starts_at_a_keys_first_record(recreate: bool) -> None:
    with driver_of(until_time_limit(milliseconds(2)), recreate=recreate) as driver:
        rows = [("v1", 1, 0), ("v1", 0, 1), ("v2", 1, 1), ("v1", 1, 2), ("x", 9, 3), ("x", 8, 4)]
        assert steps(driver, *rows) == [[], [], [], [("v1", 1, 2)], [("v2", 1, 1)], []]


def test_a_null_value_is_held_back_and_released_like_others() -> None:
    with driver_of(until_time_limit(milliseconds(2))) as driver:
        assert steps(driver, ("a", 1, 0), ("a", None, 1), ("b", 1, 2)) == [[], [], [("a", None, 1)]]


def test_a_limit_of_nothing_releases_at_once() -> None:
    with driver_of(until_time_limit(milliseconds(0))) as driver:
        assert steps(driver, ("a", 1, 5), ("b", 2, 3)) == [[("a", 1, 5)], []]
        assert steps(driver, ("c", 3, 6)) == [[("b", 2, 3), ("c", 3, 6)]]


def test_one_record_too_many_releases_the_first_in_time() -> None:
    until = until_time_limit(milliseconds(100), max_records=1)
    with driver_of(until) as driver:
        assert steps(driver, ("a", 1, 5), ("a", 2, 6), ("b", 3, 1), ("a", 4, 7)) == [
            [],
            [],
            [("b", 3, 1)],
            [],
        ]


def test_one_record_too_many_fails_if_asked_to() -> None:
    until = until_time_limit(milliseconds(100), max_records=1, full="fail")
    with driver_of(until) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0)
        with pytest.raises(ProcessingError, match="limit"):
            driver.pipe(SOURCE, "b", 1, timestamp=0)


def test_headers_are_kept() -> None:
    headers = (("h", b"1"), ("h", None))
    with driver_of(until_time_limit(milliseconds(0))) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=0, headers=headers)
        assert driver.read(SINK) == [Record("a", 1, 0, headers)]


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="max_records"):
        until_time_limit(milliseconds(1), max_records=-1)
    with pytest.raises(ValueError, match="limit"):
        until_time_limit(milliseconds(-1))
    wrong: Any = key_value_store("held", key=TEXT, value=INT64)
    with pytest.raises(TopologyError, match="buffer store"):
        suppress(until_time_limit(milliseconds(1)), store=wrong)
