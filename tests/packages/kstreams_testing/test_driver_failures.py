"""A failure in the test driver changes nothing, and its records are processed again."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
)
from kstreams.errors import (
    ProcessingError,
    SerializationError,
)
from kstreams.partitioner import partition_by, partition_of
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams_testing.driver import TopologyTestDriver
from tests.support.topologies.counting_topologies import (
    COUNTS,
    TOTALS,
    WORDS,
    Count,
    counting,
)


class Breakable(Count):
    """Fails for a key while its flag is set."""

    broken = True

    def process(self, record: Record[str, Any]) -> None:
        super().process(record)
        if self.broken and record.key == "bad":
            raise OSError("down")


@pytest.mark.parametrize("recreate", [False, True])
def test_exception_rolls_back_batch_and_its_records_are_processed_again(recreate: bool) -> None:
    class Mended(Breakable):
        pass

    with TopologyTestDriver(counting(Mended), partitions=2, recreate_processors=recreate) as driver:
        driver.pipe(WORDS, "a", 1)
        counts = driver.store(COUNTS, partition_of(b"a", 2))
        driver.read(TOTALS)
        for _ in range(2):
            with pytest.raises(ProcessingError, match="down"):
                driver.pipe_batch(WORDS, [Record(key, 1, 70) for key in ("a", "bad", "c")])
            assert driver.store_contents(COUNTS) == {"a": 1}
            assert counts.get("a") == 1
            assert driver.read(TOTALS) == []
            assert driver.stream_time("words", partition_of(b"a", 2)) == 0
        Mended.broken = False
        driver.run()
        assert driver.read_values(TOTALS) == {"a": 3, "bad": 2, "c": 2}
        assert driver.stream_time("words", partition_of(b"a", 2)) == 70


def test_failure_after_repartition_rolls_back_groups_before_it() -> None:
    class Fails(Count):
        broken = True

        def process(self, record: Record[str, Any]) -> None:
            if self.broken:
                raise OSError("down")
            super().process(record)

    above = key_value_store("above", key=TEXT, value=INT64)

    class Above(Count):
        def init(self, context: ProcessorContext[str, int]) -> None:
            super(Count, self).init(context)
            self.counts = context.store(above)

    builder = TopologyBuilder("t")
    counted = builder.add_processor(
        "above", Above, builder.add_source("words", WORDS), stores=[above]
    )
    moved = builder.repartition("move", counted, key=TEXT, value=INT64)
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("below", Fails, moved, stores=[COUNTS])
    )
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        with pytest.raises(ProcessingError):
            driver.pipe(WORDS, "a", 1)
        assert driver.store_contents(above) == {}
        Fails.broken = False
        driver.pipe(WORDS, "a", 1)
        assert driver.store_contents(above) == driver.store_contents(COUNTS) == {"a": 2}


def test_result_with_invalid_partition_rolls_back_batch() -> None:
    broken = [True]
    wrong = partition_by(lambda key, count: 7 if key == b"bad" and broken else 0, name="wrong")
    out = Topic("out", TEXT, INT64, partitioner=wrong)
    builder = TopologyBuilder("t")
    source = builder.add_source("words", WORDS)
    builder.add_sink("out", out, builder.add_processor("count", Count, source, stores=[COUNTS]))
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(ValueError, match="gave partition 7"):
            driver.pipe_batch(WORDS, [Record(key, 1, 0) for key in ("a", "bad")])
        assert (driver.read(out), driver.store_contents(COUNTS)) == ([], {})
        broken.clear()
        driver.run()
        assert driver.read_values(out) == {"a": 1, "bad": 1}


def test_value_that_store_cannot_serialize_rolls_back_batch() -> None:
    class Wrong(Count):
        def process(self, record: Record[str, Any]) -> None:
            super().process(record)
            if record.value == 0:
                bad: Any = "text"
                self.counts.put(record.key, bad)

    with TopologyTestDriver(counting(Wrong)) as driver:
        with pytest.raises(SerializationError) as caught:
            driver.pipe(WORDS, "a", 0)
        assert (caught.value.where.store, caught.value.where.key) == ("counts", "a")
        assert driver.store_contents(COUNTS) == {}


def test_failing_close_rolls_back_batch() -> None:
    class Closes(Count):
        broken = True

        def close(self) -> None:
            if self.broken:
                raise OSError("down")

    driver = TopologyTestDriver(counting(Closes), recreate_processors=True)
    with pytest.raises(ProcessingError):
        driver.pipe(WORDS, "a", 1)
    assert driver.store_contents(COUNTS) == {}
    Closes.broken = False
    driver.run()
    assert driver.store_contents(COUNTS) == {"a": 1}
    driver.close()


class Init(Count):
    """Fails in `init` while its flag is set."""

    broken = False

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        if self.broken:
            raise OSError("down")


def test_failing_init_is_retried_with_next_batch() -> None:
    class Starts(Init):
        pass

    with TopologyTestDriver(counting(Starts), recreate_processors=True) as driver:
        driver.pipe(WORDS, "a", 1)
        Starts.broken = True
        with pytest.raises(ProcessingError, match="down"):
            driver.pipe(WORDS, "a", 1)
        Starts.broken = False
        driver.run()
        assert driver.store_contents(COUNTS) == {"a": 2}
