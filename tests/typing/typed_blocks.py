"""Every building block infers its types from its parents, also for lambdas."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from typing_extensions import assert_type

from kstreams import (
    BYTES,
    TEXT,
    Node,
    Record,
    TopologyBuilder,
    filter_,
    flat_map,
    map_,
    map_values,
    rekey,
)
from kstreams.operators import (
    by_header,
    by_key,
    call_async,
    call_external,
    deduplicate,
    filter_not,
    flat_map_values,
    limit,
    peek,
    transform,
    transform_values,
)
from kstreams.processors import Supplier
from tests.typing.word_count import DELETABLE, LINES, split

builder = TopologyBuilder("blocks")
lines = builder.add_source("lines", LINES)
assert_type(lines, Node[bytes, str])


def with_key(key: bytes, value: str) -> float:
    return float(len(key) + len(value))


def shout(text: str) -> str:
    """A named function where the others have lambdas."""
    return text.upper()


def is_long(_key: bytes, text: str) -> bool:
    """A named predicate."""
    return len(text) > 80


def stamp(record: Record[bytes, str]) -> Iterator[Record[int, str]]:
    """Use an attribute that only records have."""
    yield record.with_key(record.timestamp)


def ask(record: Record[bytes, str]) -> list[float]:
    """Represent a call of an external service."""
    return [float(record.timestamp)]


lengths = builder.add_processor("lengths", map_values(len), lines)
assert_type(lengths, Node[bytes, int])
assert_type(builder.add_processor("a", map_values(shout), lines), Node[bytes, str])
assert_type(builder.add_processor("b", map_values(lambda v: v.upper()), lines), Node[bytes, str])
assert_type(builder.add_processor("c", map_values(lambda v: [v]), lines), Node[bytes, list[str]])
assert_type(builder.add_processor("d", map_values(len), lines, lines), Node[bytes, int])
both = builder.add_processor("e", map_values(lambda k, v: (k, len(v))), lines)
assert_type(both, Node[bytes, tuple[bytes, int]])
assert_type(builder.add_processor("f", map_values(with_key), lines), Node[bytes, float])
both_parts = builder.add_processor("g", flat_map_values(lambda k, v: [(k, v)]), lines)
assert_type(both_parts, Node[bytes, tuple[bytes, str]])
named_with_key: Supplier[bytes, str, bytes, float] = map_values(with_key)

pairs = builder.add_processor("pairs", map_(lambda k, v: (v.upper(), k)), lines)
assert_type(pairs, Node[str, bytes])

assert_type(builder.add_processor("split", flat_map(split), lines), Node[str, None])
flat = builder.add_processor("flat", flat_map(lambda k, v: [(w, k) for w in v.split()]), lines)
assert_type(flat, Node[str, bytes])

assert_type(
    builder.add_processor("parts", flat_map_values(lambda v: v.split()), lines), Node[bytes, str]
)

assert_type(builder.add_processor("long", filter_(is_long), lines), Node[bytes, str])
assert_type(builder.add_processor("short", filter_(lambda v: len(v) < 9), lines), Node[bytes, str])
assert_type(
    builder.add_processor("full", filter_not(lambda k, v: k == b"" or v.isspace()), lines),
    Node[bytes, str],
)
assert_type(builder.add_processor("look2", peek(lambda k, v: (k, v)), lines), Node[bytes, str])
assert_type(builder.add_processor("by", rekey(lambda k, v: len(v)), lines), Node[int, str])
assert_type(builder.add_processor("stamp", transform(stamp), lines), Node[int, str])
assert_type(
    builder.add_processor("more", transform_values(lambda r: [r.timestamp, len(r.value)]), lines),
    Node[bytes, int],
)
asked = call_external(ask, retries=5, backoff=timedelta(seconds=1), retry_on=(ValueError,))
assert_type(builder.add_processor("ask", asked, lines), Node[bytes, list[float]])
assert_type(
    builder.add_processor("ask2", call_external(lambda r: r.value.encode()), lines),
    Node[bytes, bytes],
)

deletable = builder.add_source("deletable", DELETABLE)
assert_type(deletable, Node[bytes, "str | None"])
kept = builder.add_processor("kept", map_values(lambda v: 0 if v is None else len(v)), deletable)
assert_type(kept, Node[bytes, int])
alive = builder.add_processor("alive", flat_map_values(lambda v: [v] if v else []), deletable)
assert_type(alive, Node[bytes, str])

named: Supplier[bytes, str, bytes, int] = map_values(len)
assert_type(builder.add_processor("named", named, lines), Node[bytes, int])
unnamed = flat_map(split)
assert_type(builder.add_processor("unnamed", unnamed, lines), Node[str, None])

assert_type(builder.add_processor("first", limit(3), lines), Node[bytes, str])
first_ones = limit(3)
assert_type(builder.add_processor("first2", first_ones, lines), Node[bytes, str])
assert_type(builder.add_processor("first3", first_ones, deletable), Node[bytes, "str | None"])

day = timedelta(days=1)
keyed = builder.add_processor(
    "dd-key", deduplicate(by_key(), id=BYTES, within=day, store="keyed"), lines
)
assert_type(keyed, Node[bytes, str])
headed = builder.add_processor(
    "dd-header", deduplicate(by_header("id"), id=BYTES, within=day, store="headed"), lines
)
assert_type(headed, Node[bytes, str])


def first_word(record: Record[bytes, str]) -> str | None:
    """Return an id from a value, or None."""
    return next(iter(record.value.split()), None)


worded = deduplicate(first_word, id=TEXT, within=day, store="worded")
assert_type(builder.add_processor("dd-word", worded, lines), Node[bytes, str])


async def ask_soon(record: Record[bytes, str]) -> float:
    """Return a number."""
    return float(len(record.value))


soon = builder.add_processor("soon", call_async(ask_soon, at_once=16, per_key=True), lines)
assert_type(soon, Node[bytes, float])
