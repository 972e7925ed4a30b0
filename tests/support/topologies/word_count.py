"""Processors and topics used by the graph tests."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Node,
    Processor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    flat_map,
)
from kstreams.processors import BatchProcessor
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout

LINES = Topic("lines", key=BYTES, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Keeps(FixedKeyProcessor[Any, Any, Any]):
    """Keeps the key, and has no type arguments."""

    def process(self, record: Record[Any, Any]) -> None: ...


class Changes(Processor[Any, Any, Any, Any]):
    """May change the key."""

    def process(self, record: Record[Any, Any]) -> None: ...


class Count(FixedKeyProcessor[str, None, int]):
    """Counts words."""

    def process(self, record: Record[str, None]) -> None: ...


class Tables(BatchProcessor[bytes, str, str, int]):
    """Converts lines to a table, batch by batch."""

    def process_batch(self, table: pa.Table) -> None: ...


def split(key: bytes, line: str) -> list[tuple[str, None]]:
    return [(word, None) for word in line.split()]


def word_count() -> Topology:
    """Build the topology of the README."""
    builder = TopologyBuilder("word-count")
    lines = builder.add_source("lines", LINES)
    words = builder.add_processor("split", flat_map(split), lines)
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    totals = builder.add_processor("count", Count, words, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, totals)
    builder.add_sink("print", to_stdout(), totals)
    return builder.build()


def source(builder: TopologyBuilder, name: str) -> Node[str, str]:
    """Add a source of text with a topic of its own name."""
    return builder.add_source(name, Topic(name, key=TEXT, value=TEXT))
