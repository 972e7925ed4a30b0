"""Topologies that the tests run on DataFrames."""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.operators import aggregate, flat_map
from kstreams.stores import timestamped_store, window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

LINES = Topic("lines", BYTES, TEXT)
WORDS = Topic("words", TEXT, TEXT)
COUNTS = Topic("counts", TEXT, INT64)
TUMBLING = TumblingWindows(milliseconds(10))
CLOSED = Topic("closed", windowed(TEXT, TUMBLING), INT64)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)


def split(_: bytes, line: str) -> list[tuple[str, str]]:
    return [(word, word) for word in line.split()]


def word_count() -> Topology:
    """Build lines -> words, and over an edge to counts: two groups, two sinks."""
    builder = TopologyBuilder("word-count")
    words = builder.add_processor("split", flat_map(split), builder.add_source("lines", LINES))
    builder.add_sink("words", WORDS, words)
    words = builder.repartition("by-word", words, key=TEXT, value=TEXT)
    totals = builder.add_processor(
        "count", aggregate(count(), store=TOTALS, emit=each_update()), words
    )
    builder.add_sink("counts", COUNTS, totals)
    return builder.build()


def windowed_count() -> Topology:
    """Build words -> counts by key and window, one result each, when it closes."""
    builder = TopologyBuilder("windowed-count")
    store = window_store("by-window", key=TEXT, value=INT64)
    count_all = windowed_aggregate(TUMBLING, count(), store=store, emit=on_close())
    words = builder.add_source("words", WORDS)
    builder.add_sink("closed", CLOSED, builder.add_processor("count", count_all, words))
    return builder.build()
