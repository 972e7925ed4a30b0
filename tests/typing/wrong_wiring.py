"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

import kstreams.io
from kstreams import BYTES, INT64, NONE, TEXT, Node, Record, Topic, TopologyBuilder
from kstreams.io import topic_by
from kstreams.sinks import CommitId, Results, to_batches
from kstreams.testing import RecordingSink
from kstreams.topology import to_function
from tests.typing.batch_processors import Lengths
from tests.typing.word_count import (
    COUNTS,
    DELETABLE,
    LINES,
    TOTALS,
    WORDS,
    CountWords,
    Scaled,
    Swap,
)

b = TopologyBuilder("wrong")
lines = b.add_source("lines", LINES)
words = b.add_source("words", WORDS)
totals = b.add_source("totals", TOTALS)
deletable = b.add_source("deletable", DELETABLE)


def is_even(_key: str, value: int) -> bool:
    """Take numbers."""
    return value % 2 == 0


def check(_key: str, value: str) -> str | None:
    """Take text."""
    return value or None


def take_text(record: Record[str, str]) -> None:
    """Take text."""


def name_text(record: Record[str, str]) -> str:
    """Take text."""
    return record.value


# Missing names.
misspelt = kstreams.aggregrate  # red
misspelt = kstreams.io.Kafak  # red

# Parents of another type.
b.add_processor("p", CountWords, lines, stores=[COUNTS])  # red
b.add_processor("p", Swap, words)  # red
b.add_processor("p", Lengths, totals)  # red
b.add_processor("p", Lengths, deletable)  # red
b.add_processor("p", lambda: Scaled(2.0), lines)  # red
b.add_processor("p", Swap, totals, lines)  # red
b.add_processor("p", Swap, "totals")  # red

# Wrong suppliers and stores.
b.add_processor("p", Scaled(2.0), totals)  # red
b.add_processor("p", Scaled, totals)  # red
b.add_processor("p", is_even, totals)  # red
b.add_processor("p", CountWords, words, stores=["counts"])  # red
b.add_processor("p", CountWords, words, stores=[CountWords])  # red

# Sinks of another type.
b.add_sink("s", TOTALS, words)  # red
b.add_sink("s", LINES, totals)  # red
b.add_sink("s", LINES, deletable)  # red
b.add_sink("s", DELETABLE, lines)  # red
b.add_sink("s", to_function(take_text), totals)  # red
b.add_sink("s", topic_by(name_text, key=TEXT, value=TEXT), totals)  # red
b.add_sink("s", "totals", totals)  # red
b.mirror("m", totals, LINES)  # red

# Inputs of different types do not merge.
b.merge("m", lines, totals)  # red
b.merge("m", lines, deletable)  # red

# Serdes of another type.
b.repartition("r", totals, key=BYTES, value=INT64)  # red
b.repartition("r", totals, key=TEXT, value=NONE)  # red
b.repartition("r", deletable, key=BYTES, value=INT64)  # red
topic_by(name_text, key=TEXT, value=INT64)  # red
topic: Topic[str, int] = Topic("t", key=TEXT, value=TEXT)  # red
Topic("t", key="text", value=TEXT)  # red
Topic("t", key=str, value=TEXT)  # red
INT64.serialize("1")  # red
TEXT.deserialize("1")  # red
NONE.serialize(0)  # red

# Unknown options.
Topic("t", key=TEXT, value=TEXT, nulls="keep")  # red
b.add_source("s", LINES, start="now")  # red
b.add_source("s", LINES, on_error="ignore")  # red
b.repartition("r", totals, key=TEXT, value=INT64, partitions="4")  # red

# Predicates of another type.
b.branch("b", lines, {"even": is_even})  # red
b.branch("b", totals, {"even": lambda k, v: v.upper() == k})  # red
b.branch("b", totals, {"even": lambda k, v: v})  # red
b.validate("v", totals, check)  # red
b.validate("v", totals, is_even)  # red

# A loop is closed with records of its own type, and is a separate handle.
again = b.add_loop("again", key=TEXT, value=INT64)
b.close_loop(again, words)  # red
b.close_loop(again, lines)  # red
b.close_loop(totals, totals)  # red
b.add_loop("text", key="text", value=TEXT)  # red
b.add_loop("bare", TEXT, INT64)  # red

# Handles and topologies do not change their type.
handle: Node[str, str] = totals  # red
wide: Node[str, object] = totals  # red
b.build().groups.append(None)  # red

recorded: RecordingSink[str, int] = RecordingSink()
b.add_sink("recorded", recorded, totals)
b.add_sink("recorded wrongly", recorded, words)  # red
b.add_sink("recorded deletes", recorded, deletable)  # red


def take_results(results: Results[str, int], commit: CommitId) -> None:
    """Take numbers."""


b.add_sink("batches", to_batches(take_results), totals)
b.add_sink("wrong batches", to_batches(take_results), words)  # red
b.add_sink("no ids there", recorded, totals, result_ids=True)  # red
