"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from kstreams import TEXT, Record, TopologyBuilder, filter_, flat_map, map_, map_values, rekey
from kstreams.operators import (
    by_header,
    by_key,
    call_external,
    deduplicate,
    filter_not,
    flat_map_values,
    peek,
    transform,
    transform_values,
)
from kstreams.processors import Supplier
from tests.typing.word_count import DELETABLE, LINES, TOTALS, split

b = TopologyBuilder("wrong")
lines = b.add_source("lines", LINES)
totals = b.add_source("totals", TOTALS)
deletable = b.add_source("deletable", DELETABLE)


def halve(value: int) -> float:
    """Take a number."""
    return value / 2


def is_even(_key: str, value: int) -> bool:
    """Take a number."""
    return value % 2 == 0


def words_of(record: Record[bytes, str]) -> Iterator[str]:
    """Return values instead of records."""
    yield from record.value.split()


def bare(value: str) -> str:
    """Take a value instead of a record."""
    return value


b.add_processor("p", map_values(halve), lines)  # red
b.add_processor("p", map_values(halve), deletable)  # red
b.add_processor("p", map_values(lambda v: v.upper()), totals)  # red
b.add_processor("p", map_values(lambda v: v.upper()), deletable)  # red
b.add_processor("p", map_values(lambda k, v, w: v), lines)  # red
b.add_processor("p", map_(lambda k, v: v), lines)  # red
b.add_processor("p", map_(lambda k, v: (k, v, v)), lines)  # red
b.add_processor("p", flat_map(split), totals)  # red
b.add_processor("p", flat_map(split), deletable)  # red
b.add_processor("p", flat_map(lambda k, v: [k]), lines)  # red
b.add_processor("p", flat_map_values(len), lines)  # red
b.add_processor("p", flat_map_values(lambda v: v.split()), deletable)  # red
b.add_processor("p", filter_(is_even), lines)  # red
b.add_processor("p", filter_(lambda k, v: v), lines)  # red
b.add_processor("p", filter_(lambda v: v > 0), lines)  # red
b.add_processor("p", filter_not(lambda k, v: v > 0), lines)  # red
b.add_processor("p", filter_not(lambda k, v: v.isspace()), deletable)  # red
b.add_processor("p", peek(is_even), lines)  # red
b.add_processor("p", peek(lambda v: None), lines)  # red
b.add_processor("p", rekey(lambda k, v: v.year), lines)  # red
b.add_processor("p", call_external(bare), lines)  # red
b.add_processor("p", call_external(words_of, retries="3"), lines)  # red
b.add_processor("p", call_external(words_of, backoff=5), lines)  # red
b.add_processor("p", call_external(words_of, retry_on=("OSError",)), lines)  # red
b.add_processor("p", call_external(words_of), totals)  # red
b.add_processor("p", transform(words_of), lines)  # red
b.add_processor("p", transform_values(words_of), totals)  # red
b.add_processor("p", transform_values(lambda r: len(r.value)), lines)  # red
supplier: Supplier[bytes, int, bytes, int] = map_values(bare)  # red
b.add_sink("s", TOTALS, b.add_processor("p", map_values(len), lines))  # red
b.add_sink("s", LINES, b.add_processor("p", map_values(len), lines))  # red
b.add_sink("s", LINES, b.add_processor("p", rekey(lambda k, v: v), lines))  # red

day = timedelta(days=1)
b.add_processor("dd", deduplicate(by_key(), id=TEXT, within=day, store="dd"), lines)  # red
deduplicate(by_header("id"), id=TEXT, within=day, store="dd")  # red
