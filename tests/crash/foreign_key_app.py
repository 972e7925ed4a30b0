"""The app for crash tests of foreign-key joins: three stages with all of their stores."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from kstreams import INT64, TEXT, Embedded, Topic, Topology, TopologyBuilder, timestamped_store
from kstreams.aggregators import count
from kstreams.joins import inner
from kstreams.partitioner import partition_of
from kstreams.state.stores.subscription.kind import subscription_store
from tests.support.crash.harness import Harness
from tests.support.crash.leftover_checks import check_litter
from tests.support.crash.marking_app import KEYS, PARTITIONS

__all__ = ("JoinHarness",)

LEFT, RIGHT = Topic("words", TEXT, TEXT), Topic("rights", TEXT, TEXT)
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
FULL = timestamped_store("full", key=TEXT, value=TEXT)
ENTERED = subscription_store("full-entered", foreign=TEXT, key=TEXT, value=TEXT)
SIZES = timestamped_store("sizes", key=TEXT, value=INT64)
NAMES = KEYS[:5]

Write = tuple[Topic[str, str], str, str | None]


def joining() -> Topology:
    """Build two tables, their join by a foreign key, and groups of its results."""
    builder = TopologyBuilder("marking")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    full = builder.join_foreign(
        "full", lefts, rights, inner(lambda one, other: one + other), by=named, store=FULL
    )
    builder.regroup("sizes", full, lambda _, value: value[-1:], count(), store=SIZES)
    return builder.build()


def named(_: str, value: str) -> str:
    return value.partition("|")[0]


def writes_of(number: int) -> list[Write]:
    """Return the writes of a batch: each row changes, and some rows of both tables are deleted."""
    found: list[Write] = []
    for place, key in enumerate(KEYS):
        name = NAMES[(place + number) % len(NAMES)]
        found.append((LEFT, key, None if (place + number) % 7 == 0 else f"{name}|{number}"))
    for place, name in enumerate(NAMES):
        if (place + number) % 2:
            found.append((RIGHT, name, None if (place + number) % 5 == 0 else "ABC"[number % 3]))
    return found


def emit(connection: Embedded, writes: Iterable[Write], number: int) -> None:
    """Append a batch of writes, each to the partition of its key."""
    log = connection.log()
    parts: dict[tuple[str, int], list[Write]] = {}
    for write in writes:
        place = write[0].name, partition_of(write[1].encode(), PARTITIONS)
        parts.setdefault(place, []).append(write)
    for topic in (LEFT, RIGHT):
        log.ensure(topic.name, PARTITIONS)
    for (topic_name, partition), rows in parts.items():
        values = [None if value is None else value.encode() for _, _, value in rows]
        table = pa.table(
            {
                "timestamp": pa.array([1000 * number] * len(rows), pa.int64()),
                "key": pa.array([key.encode() for _, key, _ in rows], pa.binary()),
                "value": pa.array(values, pa.binary()),
            }
        )
        log.append(topic_name, partition, table, producer="test", batch=number)


class JoinHarness(Harness):
    """An app with a foreign-key join and with groups of its results: four stages."""

    def build(self) -> Topology:
        """Return the topology under test."""
        emit(self.connection, (), 0)
        return joining()

    def batch(self) -> None:
        """Write a batch to both tables, and run until it is committed."""
        number = len(self.input)
        self.input.append(("batch", str(number)))
        emit(self.connection, writes_of(number), number)
        self.run_until_committed()

    def check(self) -> None:
        """Compare all stores with each other, and both tables with the input."""
        tables: dict[str, dict[str, str]] = {LEFT.name: {}, RIGHT.name: {}}
        for number in range(len(self.input)):
            for topic, key, value in writes_of(number):
                tables[topic.name].pop(key, None)
                if value is not None:
                    tables[topic.name][key] = value
        lefts, rights = tables[LEFT.name], tables[RIGHT.name]
        names = {key: named(key, value) for key, value in lefts.items()}
        full = {key: lefts[key] + rights[name] for key, name in names.items() if name in rights}
        sizes: dict[str, int] = {}
        for value in full.values():
            sizes[value[-1:]] = sizes.get(value[-1:], 0) + 1
        found = self.contents()
        assert found["lefts"] == lefts
        assert found["rights"] == rights
        assert found["full"] == full
        assert found["sizes"] == sizes
        assert found["full-entered"] == {(name, key): lefts[key] for key, name in names.items()}
        check_litter(self)

    def contents(self) -> dict[str, dict[object, object]]:
        """Return the contents of all stores at the last commit."""
        found: dict[str, dict[object, object]] = {spec.name: {} for spec in joining().stores}
        for spec in (LEFTS, RIGHTS, FULL, SIZES):
            for overlay in self.stores(spec):
                rows = spec.open(overlay).range()
                found[spec.name].update({key: value for key, (value, _) in rows})
        for overlay in self.stores(ENTERED):
            for name, (key, value) in ENTERED.open(overlay).range():
                found[ENTERED.name][name, key] = value
        return found
