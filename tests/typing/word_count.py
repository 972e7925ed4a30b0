"""Topics, stores and processors used by the other files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    Record,
    Topic,
)
from kstreams.processors import PunctuationType
from kstreams.state.stores.key_value.kind import key_value_store

LINES = Topic("lines", key=BYTES, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)
WORDS = Topic("words", key=TEXT, value=NONE)
DELETABLE = Topic("deletable", key=BYTES, value=TEXT, nulls="pass")
KEYLESS = Topic("keyless", key=BYTES, value=TEXT, null_keys="pass")
RAW = Topic("raw", key=BYTES, value=BYTES, nulls="pass", null_keys="pass")
COUNTS = key_value_store("counts", key=TEXT, value=INT64)
NAMES = key_value_store("names", key=TEXT, value=TEXT)


def split(key: bytes, line: str) -> Iterator[tuple[str, None]]:
    """Return a pair for each word."""
    del key
    for word in line.split():
        yield word, None


class CountWords(FixedKeyProcessor[str, None, int]):
    """Running count of each word."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)
        context.schedule(timedelta(seconds=1), PunctuationType.STREAM_TIME, self.tick)

    def tick(self, now_ms: int) -> None:
        for key, total in self.counts.range():
            self.context.forward(Record(key, total, now_ms))

    def process(self, record: Record[str, None]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class Swap(Processor[str, int, int, str]):
    """Swaps key and value."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_key(record.value).with_value(record.key))


class Anything(Processor[object, object, str, int]):
    """Accepts any record."""

    def process(self, record: Record[object, object]) -> None:
        self.context.forward(Record(str(record.key), len(str(record.value)), record.timestamp))


class Scaled(FixedKeyProcessor[str, int, float]):
    """A processor with a setting."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(record.value * self.factor))
