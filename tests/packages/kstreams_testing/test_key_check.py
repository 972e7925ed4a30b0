"""Stateful nodes check that keys belong to the partition of their task."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams import INT64, TEXT, FixedKeyProcessor, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.errors import TopologyError
from kstreams.partitioner import partition_of
from kstreams.processors import FixedKeyBatchProcessor
from kstreams.processors.rekey import rekey
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.window.kind import window_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_testing.driver import TopologyTestDriver
from tests.support.topologies.counting_topologies import COUNTS, WORDS, Count, counting


class Liar(FixedKeyProcessor[str, int, int]):
    """Declares that it keeps the key, and changes it."""

    def process(self, record: Record[str, int]) -> None:
        forward: Any = self.context.forward
        forward(record.with_key(record.value))


class Quiet(Count):
    """A stateful node that forwards nothing."""

    def process(self, record: Record[str, Any]) -> None:
        pass


class QuietBatch(FixedKeyBatchProcessor[Any, int, int]):
    """A stateful batch node that forwards nothing; `init` keeps no context."""

    def init(self, context: Any) -> None:
        pass

    def process_batch(self, table: pa.Table) -> None:
        pass


def below(liar: Any, node: Any) -> Topology:
    builder = TopologyBuilder("t")
    lies = builder.add_processor("liar", liar, builder.add_source("words", WORDS))
    builder.add_processor("count", node, lies, stores=[COUNTS])
    return builder.build()


def own_and_foreign(partitions: int = 2) -> tuple[str, str]:
    """Return a key of partition 0 and one of partition 1."""
    by_partition = {partition_of(key.encode(), partitions): key for key in "abcdefgh"}
    return by_partition[0], by_partition[1]


class Moves(FixedKeyProcessor[str, int, int]):
    """Forwards all records under the key `other`, and declares that it keeps the key."""

    other = own_and_foreign()[1]

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_key(self.other))


@pytest.mark.parametrize("node", [Quiet, QuietBatch], ids=["records", "tables"])
def test_put_of_key_of_another_partition_is_rejected(node: Any) -> None:
    own, other = own_and_foreign()
    with TopologyTestDriver(below(Moves, node), partitions=2) as driver:
        driver.pipe(WORDS, other, 1)
        with pytest.raises(TopologyError, match="belongs to partition 1") as caught:
            driver.pipe(WORDS, own, 1)
        assert "put builder.repartition" in caught.value.hint
        where = caught.value.where
        assert (where.node, where.partition, where.key) == ("count", 0, other)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Quiet, "but it has another type than the keys of 'words'"),
        (QuietBatch, "keys of type int64 reached .* 'count', which expects keys of 'words'"),
    ],
    ids=["records", "tables"],
)
def test_put_of_key_of_another_type_is_rejected(node: Any, text: str) -> None:
    with (
        TopologyTestDriver(below(Liar, node)) as driver,
        pytest.raises(TopologyError, match=text),
    ):
        driver.pipe(WORDS, "a", 1)


def test_key_check_of_driver_can_be_disabled() -> None:
    with TopologyTestDriver(below(Moves, Quiet), partitions=2, check_keys=False) as driver:
        driver.pipe(WORDS, own_and_foreign()[0], 1)


def test_record_written_to_wrong_partition_is_rejected() -> None:
    with TopologyTestDriver(counting(), partitions=2) as driver:
        driver.pipe(WORDS, own_and_foreign()[0], 1, partition=0)
        with pytest.raises(TopologyError, match="belongs to partition 0"):
            driver.pipe(WORDS, own_and_foreign()[0], 1, partition=1)


def test_key_check_ignores_null_keys_and_stateless_nodes() -> None:
    words: Topic[str | None, int] = Topic("words", TEXT, INT64, null_keys="pass")
    store = key_value_store("s", key=TEXT, value=INT64)

    class Nulls(FixedKeyProcessor[str | None, int, int]):
        def process(self, record: Record[str | None, int]) -> None:
            pass

    builder = TopologyBuilder("t")
    source = builder.add_source("words", words)
    builder.add_processor("nulls", Nulls, source, stores=[store])
    moved = builder.add_processor("moved", rekey(lambda _, value: str(value)), source)
    builder.merge("stateless", moved)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.pipe_batch(words, [Record(None, n) for n in range(4)])


def test_keys_after_repartition_are_checked_by_its_partition_count() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("words", WORDS)
    moved = builder.add_processor("moved", rekey(lambda _, value: str(value)), source)
    edge = builder.repartition("edge", moved, key=TEXT, value=INT64, partitions=5)
    through = builder.merge("through", edge)
    builder.add_processor("count", Quiet, through, stores=[COUNTS])
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.pipe_batch(WORDS, [Record("a", n) for n in range(20)])


@pytest.mark.parametrize("nested", [False, True], ids=["of-keys", "of-windows"])
def test_windowed_keys_are_in_partition_of_inner_key(nested: bool) -> None:
    windows = TumblingWindows(milliseconds(10))
    key: Any = windowed(TEXT, windows) if nested else TEXT
    source: Topic[Any, int] = Topic("in", key, INT64)
    sink: Topic[Any, int] = Topic("out", windowed(key, windows), INT64)
    builder = TopologyBuilder("t")
    store = window_store("counts", key=key, value=INT64)
    counts = windowed_aggregate(windows, count(), store=store, execution="records")
    counted = builder.add_processor("count", counts, builder.add_source("in", source))
    builder.add_sink("out", sink, counted)
    with TopologyTestDriver(builder.build(), partitions=4) as driver:
        for time, start in ((1, 0), (15, 10)):
            for word in "abcdefgh":
                own = Windowed(word, start, start + 10) if nested else word
                driver.pipe(source, own, 1, timestamp=time)
        found = driver.read_rows("out")
    assert len(found) == 16
    for row in found:
        assert row.partition == partition_of((row.key or b"")[:1], 4)
