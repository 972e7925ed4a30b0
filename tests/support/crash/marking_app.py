"""The app of the crash matrix: its state and output show any record lost or counted twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import uuid4

import pyarrow as pa

from kstreams import (
    INT64,
    TEXT,
    Embedded,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.connection import RawRecord
from kstreams.partitioner import partition_of
from kstreams.stores import list_store

__all__ = ("DROP", "LAST", "MARKS", "PARTITIONS", "State", "batch_of", "emit", "expected", "told")

PARTITIONS = 2
KEYS = tuple(f"key-{number}" for number in range(16))
DROP = "drop"
"""The value that deletes the state of a key."""

IN = Topic("words", TEXT, TEXT)
OUT = Topic("marks", TEXT, TEXT)
LAST = key_value_store("last", key=TEXT, value=TEXT)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)
MARKS = list_store("marks", key=TEXT, value=TEXT)

State = dict[str, tuple[str, ...]]
"""All marks of each key, in order."""


class Mark(FixedKeyProcessor[str, str, str]):
    """Gives each record its number and a mark that is unique to the attempt."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.last, self.marks = context.store(LAST), context.store(MARKS)
        self.counts = context.store(COUNTS)

    def process(self, record: Record[str, str]) -> None:
        key = record.key
        if record.value == DROP:
            self.marks.delete(key)
            self.last.delete(key)
            self.counts.delete(key)
            self.context.forward(record.with_value(DROP))
            return
        count = (self.counts.get(key) or 0) + 1
        mark = f"{count}:{uuid4().hex[:8]}"
        self.counts.put(key, count)
        self.last.put(key, mark)
        self.marks.append(key, mark)
        self.context.forward(record.with_value(mark))


def marking() -> Topology:
    """Build words -> mark -> marks."""
    builder = TopologyBuilder("marking")
    node = builder.add_processor(
        "mark", Mark, builder.add_source("words", IN), stores=[LAST, COUNTS, MARKS]
    )
    builder.add_sink("marks", OUT, node)
    return builder.build()


def batch_of(number: int) -> list[tuple[str, str]]:
    """Return the records of a batch: every key once, some of them twice, some dropped."""
    records = [(key, "count") for key in KEYS]
    records += [(key, DROP) for n, key in enumerate(KEYS) if (n + number) % 5 == 0]
    records += [(key, "count") for n, key in enumerate(KEYS) if (n + number) % 3 == 0]
    return records


def emit(connection: Embedded, records: Sequence[tuple[str, str]], number: int) -> None:
    """Append a batch of records, each to the partition of its key."""
    log = connection.log()
    log.ensure(IN.name, PARTITIONS)
    parts: dict[int, list[tuple[str, str]]] = {}
    for key, value in records:
        parts.setdefault(partition_of(key.encode(), PARTITIONS), []).append((key, value))
    for partition, rows in parts.items():
        table = pa.table(
            {
                "timestamp": pa.array([1000 * number] * len(rows), pa.int64()),
                "key": pa.array([key.encode() for key, _ in rows], pa.binary()),
                "value": pa.array([value.encode() for _, value in rows], pa.binary()),
            }
        )
        log.append(IN.name, partition, table, producer="test", batch=number)


def expected(records: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return, by key, the numbers that a run without faults emits, in order."""
    found: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for key, value in records:
        counts[key] = 0 if value == DROP else counts.get(key, 0) + 1
        found.setdefault(key, []).append(DROP if value == DROP else str(counts[key]))
    return found


def told(records: Iterable[RawRecord]) -> tuple[dict[str, list[str]], State]:
    """Return the contents of published records: numbers by key, and the state after them."""
    numbers: dict[str, list[str]] = {}
    state: State = {}
    for record in records:
        key, mark = (record.key or b"").decode(), (record.value or b"").decode()
        numbers.setdefault(key, []).append(mark.partition(":")[0])
        state[key] = () if mark == DROP else (*state.get(key, ()), mark)
    return numbers, {key: marks for key, marks in state.items() if marks}
