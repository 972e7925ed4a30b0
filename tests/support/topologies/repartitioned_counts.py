"""A topology of three stages, which counts records after two repartitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kstreams import TEXT, Topology, TopologyBuilder, rekey
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Count, expected_totals

RECORDS = [(f"key-{number % 7}", f"value {number % 3}") for number in range(200)]


def by_value(_: str, value: str) -> str:
    return value


def by_length(_: str, value: str) -> str:
    return f"{len(value)}{value[-1]}"


def repartitioned_twice(counter: Any = Count) -> Topology:
    """Return the topology: words -> by-value -> by-length -> count -> totals."""
    builder = TopologyBuilder("moved")
    moved = builder.add_processor("by-value", rekey(by_value), builder.add_source("words", WORDS))
    first = builder.repartition("first", moved, key=TEXT, value=TEXT)
    again = builder.add_processor("by-length", rekey(by_length), first)
    second = builder.repartition("second", again, key=TEXT, value=TEXT)
    count = builder.add_processor("count", counter, second, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, count)
    return builder.build()


def repartitioned_totals(records: list[tuple[str, str]]) -> Counter[tuple[str, int]]:
    """Return the expected output of the topology, each result once, in any order."""
    return expected_totals([(by_length("", value), value) for _, value in records])
