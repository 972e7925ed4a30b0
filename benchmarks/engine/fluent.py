"""The same topology with the builder and with `kstreams.streams`, batch by batch.

    python -m benchmarks.engine streams

Both forms run by columns in the test driver. The figures are processor time, as the ratio of the
builder's time and the time of `kstreams.streams` in pairs of equal batches. W1, W2 and NEXMark Q3
have the forms of the suite; Q3 is a foreign-key join below filters.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.suite.auctions import AUCTION, CATEGORY, PERSON, Auction, Person
from benchmarks.workloads import q3, w1, w2
from kstreams import BYTES, INT64, TEXT, Topic, Topology
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import windowed

__all__ = ("CASES", "pairs")

Row = tuple[str, bytes, bytes, int]
"""Topic, key, value and timestamp (ms) of a record."""

_USERS = 5_000


@dataclass(frozen=True)
class Case:
    """A topology in both forms, with its records.

    Attributes:
        builder: Builds the topology with `TopologyBuilder`.
        streams: Defines the same topology.
        rows: Returns the records of a batch with a given number and size.
    """

    builder: Callable[[], Topology]
    streams: Callable[[Streams], None]
    rows: Callable[[int, int], list[Row]]


def _w1(streams: Streams) -> None:
    clicks = streams.stream(Topic("clicks", TEXT, BYTES))
    counts = clicks.group_by_key().windowed_by(w1.SIZE).count()
    counts.to(Topic("out", windowed(TEXT, w1.SIZE), INT64))


def _w2(streams: Streams) -> None:
    counts = streams.stream(Topic("clicks", TEXT, BYTES)).group_by_key().count()
    counts.to(Topic("out", TEXT, INT64))


def _q3(streams: Streams) -> None:
    items = streams.stream(Topic("auctions", TEXT, AUCTION))
    people = streams.stream(Topic("persons", TEXT, PERSON))
    wanted = items.filter(lambda _, auction: auction.category == CATEGORY).to_table()
    near = people.filter(lambda _, person: person.state in q3.STATES).to_table()
    sellers = wanted.join_by(
        near, lambda _, auction: str(auction.seller), q3.seller_of, value=q3.SELLER
    )
    sellers.to(Topic("out", TEXT, q3.SELLER, nulls="pass"))


def _clicks(batch: int, count: int) -> list[Row]:
    drawn = random.Random(batch)
    start = batch * 10_000
    return [
        ("clicks", b"user-%d" % drawn.randrange(_USERS), b"", start + row * 10_000 // count)
        for row in range(count)
    ]


def _auctions(batch: int, count: int) -> list[Row]:
    drawn = random.Random(batch)
    rows: list[Row] = []
    for row in range(count):
        time_ms, number = batch * 10_000 + row, batch * count + row
        if row % 4 == 0:
            person = Person(f"name {number}", "city", drawn.choice(["CA", "ID", "NY", "WA"]))
            key = b"%d" % drawn.randrange(_USERS)
            rows.append(("persons", key, PERSON.serialize(person), time_ms))
        else:
            category = drawn.randrange(CATEGORY, CATEGORY + 5)
            auction = Auction(number, "item", drawn.randrange(_USERS), category)
            rows.append(("auctions", b"%d" % number, AUCTION.serialize(auction), time_ms))
    return rows


CASES = {
    "W1": Case(lambda: w1.topology("clicks", "out", "auto"), _w1, _clicks),
    "W2": Case(lambda: w2.topology("clicks", "out", "auto"), _w2, _clicks),
    "Q3": Case(lambda: q3.topology("auctions", "persons", "out", "auto"), _q3, _auctions),
}


def pairs(batch: int, count: int) -> dict[str, float]:
    """Measure both forms in turns.

    Args:
        batch: The number of records of a batch.
        count: The number of batches.
    """
    print(f"\nstreams against the builder: {count} batches of {batch:,} records\n")
    figures = {}
    for name, case in CASES.items():
        found = sorted(_ratios(case, batch, count))
        figures[f"{name}: streams against builder"] = median(found)
        low, high = found[len(found) // 4], found[-1 - len(found) // 4]
        print(f"{name:6}{median(found):8.3f}   quartiles {low:.3f} {high:.3f}", flush=True)
    return figures


def _ratios(case: Case, batch: int, count: int) -> list[float]:
    streams = Streams("fluent")
    case.streams(streams)
    with ExitStack() as opened:
        built, fluent = (
            opened.enter_context(TopologyTestDriver(each, partitions=1))
            for each in (case.builder(), streams.build())
        )
        ratios = []
        for number in range(count):
            spent: dict[Any, float] = {}
            rows = case.rows(number, batch)
            for driver in (built, fluent) if number % 2 else (fluent, built):
                for topic, key, value, time_ms in rows:
                    driver.write_bytes(topic, key, value, timestamp=time_ms)
                began = time.process_time()
                driver.run()
                spent[driver] = time.process_time() - began
            ratios.append(spent[built] / spent[fluent])
        _check(built, fluent)
    return ratios[2:] or ratios


def _check(*drivers: TopologyTestDriver) -> None:
    """Check that both forms wrote the same results.

    Raises:
        ValueError: They did not.
    """
    one, two = (
        [(row.key, row.value, row.timestamp) for row in driver.read_rows("out")]
        for driver in drivers
    )
    if one != two:
        raise ValueError(f"the forms have different results: {len(one):,} and {len(two):,} records")
