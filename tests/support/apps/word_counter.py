"""A word count topology for the apps of several tests; needs only the installed library."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from kstreams import (
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Node,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    flat_map,
    key_value_store,
)
from kstreams.sources import Log
from kstreams.stores import KeyValueStore, StoreSpec

__all__ = ("COUNTS", "CountWords", "count_words")

K = TypeVar("K")
"""Type of the keys of lines."""

COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class CountWords(FixedKeyProcessor[str, None, int]):
    """Forward the number of occurrences of each word."""

    def __init__(self, store: StoreSpec[KeyValueStore[str, int]]) -> None:
        self.store = store

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(self.store)

    def process(self, record: Record[str, None]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def count_words(
    builder: TopologyBuilder,
    lines: Topic[K, str] | Log[K, str],
    totals: Topic[str, int],
    store: StoreSpec[KeyValueStore[str, int]] = COUNTS,
) -> tuple[Node[str, None], Node[str, int]]:
    """Add lines -> split -> by-word -> count -> totals; return the words and their counts."""
    words = builder.add_processor(
        "split",
        flat_map(lambda _, line: ((word, None) for word in line.split())),
        builder.add_source("lines", lines),
    )
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    counts = builder.add_processor("count", partial(CountWords, store), words, stores=[store])
    builder.add_sink("totals", totals, counts, result_ids=True)
    return words, counts
