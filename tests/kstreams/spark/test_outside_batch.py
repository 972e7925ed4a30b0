"""On workers, which serve batch after batch, nothing kept of one batch acts in another."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import ProcessorContext, Record, Topology, TopologyBuilder
from tests.kstreams.spark.apps import COUNTS, TOTALS, WORDS, Bench, Count, sums

pytestmark = pytest.mark.spark


class Keeping(Count):
    """Counts; uses what it has kept of an earlier batch where a value says so."""

    kept: Any = None

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        type(self).kept = type(self).kept or self

    def process(self, record: Record[str, str]) -> None:
        super().process(record)
        match record.value:
            case "forward":
                self.kept.context.forward(record.with_value(0))
            case "put":
                self.kept.counts.put(record.key, 0)
            case _:
                pass


def keeping() -> Topology:
    """Build words -> count -> totals; what fails is skipped, as Spark would try it elsewhere."""
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS, on_error="skip")
    count = builder.add_processor("count", Keeping, words, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, count)
    return builder.build()


def test_what_is_kept_of_a_batch_is_refused_in_the_next(bench: Bench) -> None:
    bench.create(WORDS, partitions=1)
    bench.emit(WORDS, [("a", "x")])
    with bench.app(keeping(), parallelism=1) as app:
        app.open()
        app.drain()
        bench.emit(WORDS, [("b", "forward"), ("c", "put"), ("a", "x")])
        app.drain()
    assert sums(bench.reports) == {"skipped-OutsideBatchError": 2}
    assert bench.records(TOTALS) == [("a", 1), ("a", 2)]
    assert bench.store(keeping(), COUNTS) == {"a": 2}
