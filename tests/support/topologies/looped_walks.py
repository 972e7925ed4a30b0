"""A topology with a loop: records walk over keys, each step a hop to the next key's task."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
)
from kstreams.operators import filter_, map_values, rekey
from kstreams.topology import OnError, Topology

__all__ = ("IN", "KEYS", "OUT", "TOTALS", "Walk", "visits", "walking")

IN = Topic("in", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
KEYS = tuple(f"k{n}" for n in range(6))
TOTALS = key_value_store("totals", key=TEXT, value=INT64)


class Walk(Processor[str, int, str, int]):
    """Counts a visit of its key, and forwards to the next key while steps are left."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.totals = context, context.store(TOTALS)

    def process(self, record: Record[str, int]) -> None:
        self.totals.put(record.key, (self.totals.get(record.key) or 0) + 1)
        self.context.forward(record)


def is_left(_: str, steps: int) -> bool:
    return steps > 0


def one_less(steps: int) -> int:
    return steps - 1


def next_key(key: str, _: int) -> str:
    return KEYS[(KEYS.index(key) + 1) % len(KEYS)]


def walking(
    max_hops: int = 100, on_error: OnError = "fail", *, behind_edge: bool = False
) -> Topology:
    """Return a topology: in -> walk -> loop to the next key, repeated as often as the value."""
    builder = TopologyBuilder("walking", on_error=on_error)
    again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=max_hops)
    source = builder.add_source("in", IN)
    parents: tuple[Any, ...] = (source, again)
    if behind_edge:
        merged = builder.merge("merged", source, again)
        parents = (builder.repartition("edge", merged, key=TEXT, value=INT64),)
    walk = builder.add_processor("walk", Walk, *parents, stores=[TOTALS])
    builder.add_sink("out", OUT, walk)
    left = builder.add_processor("left", filter_(is_left), walk)
    less = builder.add_processor("less", map_values(one_less), left)
    builder.close_loop(again, builder.add_processor("next", rekey(next_key), less))
    return builder.build()


def visits(records: list[tuple[str, int]]) -> dict[str, int]:
    """Return the number of visits of each key."""
    found: Counter[str] = Counter()
    for key, steps in records:
        start = KEYS.index(key)
        found.update(KEYS[(start + step) % len(KEYS)] for step in range(steps + 1))
    return dict(found)
