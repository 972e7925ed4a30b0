"""On workers, which serve batch after batch, nothing kept of one batch acts in another."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import ProcessorContext, Record
from kstreams.errors import OutsideBatchError
from tests.kstreams.spark.apps import TOTALS, WORDS, Bench, Count, counting

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


@pytest.mark.parametrize("effect", ["forward", "put"])
def test_what_is_kept_of_a_batch_is_refused_in_the_next(bench: Bench, effect: str) -> None:
    bench.create(WORDS, partitions=1)
    bench.emit(WORDS, [("a", "x")])
    with bench.app(counting(Keeping), parallelism=1) as app:
        app.open()
        app.drain()
        bench.emit(WORDS, [("b", effect)])
        with pytest.raises(OutsideBatchError, match="outside of a batch") as caught:
            app.drain()
        where = caught.value.where
        assert (where.node, where.topic, where.offset) == ("count", "words", 1)
    assert bench.records(TOTALS) == [("a", 1)]
