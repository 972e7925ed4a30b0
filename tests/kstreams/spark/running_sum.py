"""A running sum, for topologies of several groups."""

from __future__ import annotations

from typing import Any

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Node,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
)

NUMBERS = Topic("numbers", TEXT, INT64)
SUMS = Topic("sums", TEXT, INT64)


def store(name: str) -> Any:
    return key_value_store(name, key=TEXT, value=INT64)


class Sum(FixedKeyProcessor[str, int, int]):
    """Running sum of each key."""

    def __init__(self, name: str) -> None:
        self.name = name

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.sums = context, context.store(store(self.name))

    def process(self, record: Record[str, int]) -> None:
        total = (self.sums.get(record.key) or 0) + record.value
        self.sums.put(record.key, total)
        self.context.forward(record.with_value(total))


def summing(builder: TopologyBuilder, name: str, *parents: Node[str, int]) -> Node[str, int]:
    return builder.add_processor(name, lambda: Sum(name), *parents, stores=[store(name)])
