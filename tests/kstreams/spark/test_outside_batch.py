"""Objects that a worker keeps from one batch cannot act in another batch."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import ProcessorContext, Record, Topology, TopologyBuilder
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, Count, sums

pytestmark = pytest.mark.spark


class Keeping(Count):
    """Counts; uses an object kept from an earlier batch if a value requests it."""

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
    """Return a topology: words -> count -> totals; failures are skipped and so not retried."""
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS, on_error="skip")
    count = builder.add_processor("count", Keeping, words, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, count)
    return builder.build()


@pytest.mark.engines("spark", "embedded")  # as an operator, the next batch may use another process
def test_object_kept_from_batch_is_rejected_in_next_batch(bench: Bench) -> None:
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
