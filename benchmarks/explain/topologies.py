"""Topologies to explain: counts after a repartition, and windowed counts."""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, flat_map
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.operators import aggregate
from kstreams.stores import timestamped_store, window_store
from kstreams.windows import TumblingWindows, windowed_aggregate

__all__ = ("LINES", "windows", "words")

LINES = Topic("lines", key=TEXT, value=TEXT)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)
WINDOWS = window_store("counts", key=TEXT, value=INT64)


def words() -> Topology:
    """Count words: a repartition sends the words of a line to the tasks of the words."""
    builder = TopologyBuilder("words")
    lines = builder.add_source("lines", LINES)
    each = builder.add_processor("split", flat_map(_words), lines)
    each = builder.repartition("by-word", each, key=TEXT, value=TEXT)
    builder.add_processor("count", aggregate(count(), store=COUNTS), each)
    return builder.build()


def _words(_: str, line: str) -> list[tuple[str, str]]:
    return [(word, word) for word in line.split()]


def windows() -> Topology:
    """Count lines by key and window of one minute."""
    builder = TopologyBuilder("windows")
    minutes = windowed_aggregate(TumblingWindows(seconds(60)), count(), store=WINDOWS)
    builder.add_processor("count", minutes, builder.add_source("lines", LINES))
    return builder.build()
