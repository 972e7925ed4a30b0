"""Run hostile streams on the test driver."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from kstreams import INT64, TEXT, Topic, Topology
from kstreams.io import RawRecord
from kstreams.windows import windowed
from kstreams_testing.driver import TopologyTestDriver
from tests.support.hostile.record_accounting import LETTERS, Account, Written, identified
from tests.support.hostile.records import NOW, Hostile
from tests.support.hostile.topologies import IN, OUT, RESULTS, WINDOWS

__all__ = ("Run", "driver_of", "write")


def driver_of(topology: Topology, **options: Any) -> TopologyTestDriver:
    """Return a test driver with a correct clock."""
    return TopologyTestDriver(topology, partitions=2, start=NOW, **options)


def write(driver: TopologyTestDriver, record: Hostile, number: int) -> None:
    """Write a record with its own timestamp and headers."""
    driver.write_bytes(
        IN.name,
        record.key,
        record.value,
        timestamp=record.timestamp,
        headers=identified(record, number),
    )


class Run:
    """A stream that has been run through a topology to its end."""

    def __init__(self, topology: Topology, stream: Sequence[Sequence[Hostile]]) -> None:
        given = [record for batch in stream for record in batch]
        with driver_of(topology, recreate_processors=True) as driver:
            number = 0
            for batch in stream:
                for record in batch:
                    write(driver, record, number)
                    number += 1
                driver.run()
            driver.advance_wall_clock(timedelta(hours=1))
            driver.close_windows()
            self.results = driver.read_rows(RESULTS)
            self.account = Account(
                given,
                driver.dropped,
                _written(driver.read_rows(OUT.name)),
                _written(driver.read_rows(LETTERS)),
            )

    def counts(self, kind: str) -> list[tuple[Any, int | None]]:
        """Return the results of windows, decoded."""
        topic: Any = Topic(RESULTS, windowed(TEXT, WINDOWS[kind]), INT64, nulls="pass")
        return [(topic.key.deserialize(row.key), _count(row.value)) for row in self.results]


def _count(data: bytes | None) -> int | None:
    return None if data is None else INT64.deserialize(data)


def _written(rows: Sequence[RawRecord]) -> list[Written]:
    return [Written(row.key, row.value, row.timestamp, row.headers) for row in rows]
