"""Sources, processors, stores, repartition edges, branches and sinks preserve types."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from typing_extensions import assert_type

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    Node,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    flat_map,
)
from kstreams.io import topic_by
from kstreams.sources import Csv, FileLog, Gzip, Log, Whole, folder
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.topology import Invalid, Loop, PartitionGroup, to_function, to_stdout
from tests.typing.batch_processors import Lengths, Parse
from tests.typing.word_count import (
    COUNTS,
    DELETABLE,
    KEYLESS,
    LINES,
    RAW,
    TOTALS,
    Anything,
    CountWords,
    Scaled,
    Swap,
    split,
)

assert_type(LINES, Topic[bytes, str])
assert_type(DELETABLE, Topic[bytes, "str | None"])
assert_type(KEYLESS, Topic["bytes | None", str])
assert_type(RAW, Topic["bytes | None", "bytes | None"])
assert_type(COUNTS, StoreSpec[KeyValueStore[str, int]])

builder = TopologyBuilder("word-count")
lines = builder.add_source("lines", LINES)
words = builder.add_processor("split", flat_map(split), lines)
words = builder.repartition("by-word", words, key=TEXT, value=NONE)
assert_type(words, Node[str, None])
totals = builder.add_processor("count", CountWords, words, stores=[COUNTS])
assert_type(totals, Node[str, int])
builder.add_sink("totals", TOTALS, totals)
builder.add_sink("print", to_stdout(), totals)


def consume(record: Record[str, int]) -> None:
    """Accept a record of the sink."""


def choose(record: Record[str, int]) -> str:
    """Return the name of a topic."""
    return "many" if record.value > 1 else "few"


builder.add_sink("consume", to_function(consume), totals)
builder.add_sink("choose", topic_by(choose, key=TEXT, value=INT64), totals)

swapped = builder.add_processor("swap", Swap, totals)
assert_type(swapped, Node[int, str])
assert_type(builder.add_processor("any", Anything, swapped), Node[str, int])
assert_type(builder.add_processor("scaled", lambda: Scaled(2.0), totals), Node[str, float])
assert_type(builder.add_processor("scaled2", partial(Scaled, 2.0), totals), Node[str, float])

lengths = builder.add_processor("lengths", Lengths, lines)
assert_type(lengths, Node[bytes, int])
parsed = builder.add_processor("parse", Parse, lines)
assert_type(parsed, Node[str, int])
assert_type(builder.merge("all", totals, parsed), Node[str, int])

branches = builder.branch(
    "size", totals, {"small": lambda k, v: v < 10, "big": lambda k, v: len(k) > 3}, default="rest"
)
assert_type(branches, dict[str, Node[str, int]])
assert_type(builder.mirror("copy", totals, TOTALS), Node[str, int])


def check(key: str, value: int) -> str | None:
    """Refuse negative numbers."""
    return None if value >= 0 else f"{key} is negative"


valid, invalid = builder.validate("check", totals, check)
assert_type(valid, Node[str, int])
assert_type(invalid, Node[str, Invalid[int]])

raw = builder.add_source("raw", RAW)
assert_type(raw, Node["bytes | None", "bytes | None"])
deletable = builder.add_source("deletable", DELETABLE)
builder.add_sink("deleted", DELETABLE, deletable)


def by_key(record: Record[bytes, str | None]) -> str:
    """Return the name of a topic for records that may be tombstones."""
    return record.key.decode()


builder.add_sink("tombstones", topic_by(by_key, key=BYTES, value=TEXT, nulls="pass"), deletable)

again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=10)
assert_type(again, Loop[str, int])
builder.close_loop(again, totals, again)

topology = builder.build()
assert_type(topology, Topology)
assert_type(topology.groups, tuple[PartitionGroup, ...])


class Row(NamedTuple):
    """A row of a file."""

    item: str


def logs(builder: TopologyBuilder) -> None:
    rows = folder("rows", "in", Gzip(Csv(Row)))
    assert_type(rows, FileLog[None, Row])
    assert_type(builder.add_source("rows", rows), Node[None, Row])
    assert_type(builder.add_source("files", folder("files", "in", Whole(BYTES))), Node[str, bytes])
    log: Log[None, Row] = rows
    assert_type(builder.add_source("log", log), Node[None, Row])
