"""The processors of drawn topologies, all at module level so that workers can import them.

Keys are text or None, values are numbers or None. `model` implements each one a second time,
independently.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams import INT64, TEXT, FixedKeyProcessor, Processor, ProcessorContext, Record
from kstreams.processors import FixedKeyBatchProcessor, PunctuationType
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec

__all__ = ("KINDS", "store_of")

AnyRecord = Record[Any, Any]


def store_of(name: str) -> StoreSpec[KeyValueStore[str, int]]:
    """Return the definition of a store."""
    return key_value_store(name, key=TEXT, value=INT64)


class _Node:
    """A node with a number and perhaps a store."""

    def __init__(self, number: int, store: str | None) -> None:
        self.number = number
        self.store = store


class Add(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Adds a number; forwards None unchanged."""

    def process(self, record: AnyRecord) -> None:
        value = record.value
        self.context.forward(record.with_value(None if value is None else value + self.number))


class Untyped(_Node, Processor[Any, Any, Any, Any]):
    """Forwards all records, nulls too, to children that do not expect nulls."""

    def process(self, record: AnyRecord) -> None:
        self.context.forward(record)


class Keep(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Drops multiples of a number."""

    def process(self, record: AnyRecord) -> None:
        if record.value is None or record.value % self.number:
            self.context.forward(record)


class Twice(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Forwards a record, and a later one with the next value."""

    def process(self, record: AnyRecord) -> None:
        self.context.forward(record)
        if record.value is not None:
            later = record.with_value(record.value + 1).with_timestamp(record.timestamp + 1)
            self.context.forward(later)


class Rekey(_Node, Processor[Any, Any, Any, Any]):
    """Makes the key from the value."""

    def process(self, record: AnyRecord) -> None:
        rest = None if record.value is None else f"r{record.value % self.number}"
        self.context.forward(record.with_key(rest))


class Late(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Drops records that are older than stream time by more than a number."""

    def process(self, record: AnyRecord) -> None:
        if record.timestamp < self.context.stream_time - self.number:
            self.context.drop("late")
        else:
            self.context.forward(record)


class Where(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Writes the origin of the record to a header."""

    def process(self, record: AnyRecord) -> None:
        at = self.context.metadata
        place = "nowhere" if at is None else f"{at.topic}/{at.partition}/{at.offset}"
        self.context.forward(record.with_headers((*record.headers, ("at", place.encode()))))


class _Stateful(_Node, FixedKeyProcessor[Any, Any, Any]):
    """A node with a store; drops null keys."""

    counts: KeyValueStore[str, int]

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        self.counts = context.store(store_of(self.store or ""))

    def process(self, record: AnyRecord) -> None:
        if record.key is None:
            self.context.drop("no-key")
        else:
            self.handle(record)

    def handle(self, record: AnyRecord) -> None:
        raise NotImplementedError


class Count(_Stateful):
    """Running count of each key."""

    def handle(self, record: AnyRecord) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class Sum(_Stateful):
    """Running sum of each key; None resets it."""

    def handle(self, record: AnyRecord) -> None:
        if record.value is None:
            self.counts.delete(record.key)
            self.context.forward(record)
        else:
            total = (self.counts.get(record.key) or 0) + record.value
            self.counts.put(record.key, total)
            self.context.forward(record.with_value(total))


class Fragile(_Stateful):
    """Counts and forwards, then fails where the value is a multiple of a number."""

    def handle(self, record: AnyRecord) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.drop("looked-at")
        self.context.forward(record.with_value(total))
        if record.value is not None and record.value % self.number == 0:
            raise ArithmeticError(f"{record.value} is a multiple of {self.number}")


class Collect(_Stateful):
    """Sums by key; at each interval forwards the sums in the order of keys, and resets them."""

    clock = PunctuationType.STREAM_TIME

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=self.number), self.clock, self.tick)

    def handle(self, record: AnyRecord) -> None:
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + (record.value or 0))

    def tick(self, now: int) -> None:
        for key, total in self.counts.range():
            self.context.forward(Record(key, total, now))
            self.counts.delete(key)


class WallCollect(Collect):
    """As `Collect`, at intervals of the wall clock."""

    clock = PunctuationType.WALL_CLOCK_TIME


class Stamp(_Node, FixedKeyProcessor[Any, Any, Any]):
    """Writes the task of the record to a header; precedes every sink."""

    def process(self, record: AnyRecord) -> None:
        stamp = ("task", str(self.context.task).encode())
        self.context.forward(record.with_headers((*record.headers, stamp)))


class BatchAdd(_Node, FixedKeyBatchProcessor[Any, "int | None", Any]):
    """As `Add`."""

    def process_batch(self, table: pa.Table) -> None:
        place = table.schema.get_field_index("value")
        added = pc.add(table.column("value").cast(pa.int64()), self.number)
        self.context.forward(table.set_column(place, "value", added))


class BatchCount(_Node, FixedKeyBatchProcessor["str | None", "int | None", Any]):
    """As `Count`: writes the running count to each record."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.counts = context.store(store_of(self.store or ""))

    def process_batch(self, table: pa.Table) -> None:
        known = table.filter(pc.is_valid(table.column("key")))
        for _ in range(table.num_rows - known.num_rows):
            self.context.drop("no-key")
        if not known.num_rows:
            return
        encoded = known.column("key").combine_chunks().dictionary_encode()
        keys = encoded.dictionary.to_pylist()
        groups = encoded.indices.to_numpy()
        before = np.array([count or 0 for count in self.counts.get_many(keys)], np.int64)
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups, minlength=len(keys))
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        running = np.empty(len(groups), np.int64)
        running[order] = np.arange(len(groups)) - starts + 1
        self.counts.put_many(keys, (before + sizes).tolist())
        place = known.schema.get_field_index("value")
        self.context.forward(known.set_column(place, "value", pa.array(before[groups] + running)))


KINDS: dict[str, Any] = {
    "add": Add,
    "untyped": Untyped,
    "keep": Keep,
    "twice": Twice,
    "rekey": Rekey,
    "late": Late,
    "where": Where,
    "count": Count,
    "sum": Sum,
    "fragile": Fragile,
    "collect": Collect,
    "wall-collect": WallCollect,
    "stamp": Stamp,
    "batch-add": BatchAdd,
    "batch-count": BatchCount,
}
"""Classes by the kind in a plan; each takes a number and the name of a store."""
