"""`rate`: numbers generated at a rate, by a given clock."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta, timezone

import pytest

from kstreams import INT64, Topic, TopologyBuilder
from kstreams.errors import CompileError
from kstreams.log import Piece
from kstreams.raw_batch import NO_LIMIT
from kstreams.serde.none import NONE
from kstreams.sources import rate
from kstreams.testing import FakeClock, TopologyTestDriver

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
START_MS = int(START.timestamp() * 1000)
NUMBERS = Topic("numbers", key=NONE, value=INT64)


def test_rate_log_adds_numbers_as_time_passes_and_retains_them() -> None:
    clock = FakeClock(START_MS - 500)
    log = rate("load", 3, start=START, partitions=2)
    with closing(log.contents(clock)) as contents, closing(log.reader()) as reader:
        assert contents.ends() == contents.beginnings() == {0: 0, 1: 0}
        clock.advance(timedelta(seconds=2.5))
        assert contents.ends() == {0: 3, 1: 3}
        found = [reader.read(Piece(part, 0, 3), max_bytes=NO_LIMIT) for part in range(2)]
        assert [
            list(map(INT64.deserialize, each.column("value").to_pylist())) for each in found
        ] == [[0, 2, 4], [1, 3, 5]]
        times = [time - START_MS for time in found[0].column("timestamp").to_pylist()]
        assert times == [0, 666, 1333]
        assert contents.first_since(0, START_MS + 1) == (1, START_MS + 666)
        assert contents.first_since(1, START_MS + 9_999) is None
        with closing(log.contents()) as by_the_system:
            assert by_the_system.ends()[0] > 3


def test_rate_log_uses_clock_of_test_driver() -> None:
    builder = TopologyBuilder("load")
    builder.add_sink("out", NUMBERS, builder.add_source("load", rate("load", 2, start=START)))
    with TopologyTestDriver(builder.build(), real_sources=True, start=START) as driver:
        driver.run()
        assert driver.read(NUMBERS) == []
        driver.advance_wall_clock(timedelta(seconds=3))
        driver.run()
        assert [record.value for record in driver.read(NUMBERS)] == [0, 1, 2, 3, 4, 5]


def test_invalid_arguments_of_rate_log_are_rejected() -> None:
    with pytest.raises(CompileError):
        rate("a/b", 1, start=START)
    with pytest.raises(CompileError):
        rate("load", 1, start=START, partitions=0)
    with pytest.raises(ValueError, match="per_second"):
        rate("load", 0, start=START)
    with pytest.raises(ValueError, match="no time zone"):
        rate("load", 1, start=datetime(2026, 1, 1))  # without a time zone
