"""Omitted type parameters: forwarded records have the types of the input."""

from __future__ import annotations

from typing_extensions import assert_type, override

from kstreams import INT64, TEXT, FixedKeyProcessor, Node, Processor, Record, Topic, TopologyBuilder
from kstreams.aggregators import Aggregator, InvertibleAggregator, count, max_
from kstreams.testing import TopologyTestDriver


class Passing(Processor[str, int]):
    """Forwards pairs of the input types."""

    @override
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


class Doubled(FixedKeyProcessor[str, int]):
    """Forwards values of the input type."""

    @override
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(2 * record.value))


b = TopologyBuilder("defaults")
numbers = b.add_source("numbers", Topic("numbers", TEXT, INT64))
assert_type(b.add_processor("passing", Passing, numbers), Node[str, int])
assert_type(b.add_processor("doubled", Doubled, numbers), Node[str, int])

most: Aggregator[object, int, int] = max_(INT64)
number: InvertibleAggregator[object, object, int] = count()
assert_type(most.result(1), int)
assert_type(number.result(1), int)


class NamedDriver(TopologyTestDriver):
    """A subclass of the test driver keeps its type in a `with` statement."""

    name = "named"


with NamedDriver(b.build()) as driver:
    assert_type(driver, NamedDriver)
