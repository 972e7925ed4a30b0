"""Changelogs of stores, batch by batch, on the test driver."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.errors import RecordRefusedError
from kstreams.errors.building import TopologyError
from kstreams.partitioner import partition_of
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.kind import StoreKind
from kstreams.stores import KeyValueStore, StoreSpec, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.topic_limits import TopicLimits
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate

NUMBERS = Topic("numbers", TEXT, INT64)
LOG = Topic("sums-log", TEXT, INT64, nulls="pass")
PLAIN = key_value_store("sums", key=TEXT, value=INT64)
SUMS = PLAIN.with_changelog("sums-log")


def adding(spec: StoreSpec[KeyValueStore[str, int]]) -> type[FixedKeyProcessor[str, int, int]]:
    class Add(FixedKeyProcessor[str, int, int]):
        """Sum of each key; 0 deletes the key."""

        def init(self, context: ProcessorContext[str, int]) -> None:
            self.context, self.sums = context, context.store(spec)

        def process(self, record: Record[str, int]) -> None:
            total = (self.sums.get(record.key) or 0) + record.value
            self.sums.put(record.key, total if record.value else None)
            if record.value < 0:
                raise ValueError("negative")

    return Add


def summing(spec: StoreSpec[KeyValueStore[str, int]] = SUMS) -> Topology:
    builder = TopologyBuilder("summing", on_error="skip")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_processor("sum", adding(spec), numbers, stores=[spec])
    return builder.build()


def records(pairs: Iterable[tuple[str, int]], at: int) -> list[Record[str, int]]:
    return [Record(key, value, at) for key, value in pairs]


def test_batch_logs_last_value_of_each_key_once_and_deletions_as_nulls() -> None:
    with TopologyTestDriver(summing()) as driver:
        driver.pipe_batch(NUMBERS, records([("a", 1), ("b", 2), ("a", 3)], at=5))
        assert driver.read(LOG) == [Record("a", 4, 5), Record("b", 2, 5)]
        driver.pipe_batch(NUMBERS, records([("b", 0), ("c", 9)], at=8))
        assert driver.read(LOG) == [Record("b", None, 8), Record("c", 9, 8)]


def test_changes_of_failed_record_are_not_logged() -> None:
    with TopologyTestDriver(summing()) as driver:
        driver.pipe_batch(NUMBERS, records([("a", 1), ("b", -2)], at=5))
        assert driver.read(LOG) == [Record("a", 1, 5)]


def test_row_rejected_by_changelog_topic_fails_batch_with_store_key_and_limit() -> None:
    limits = {"sums-log": TopicLimits(max_bytes=40 + 512)}
    long = "k" * 41
    with TopologyTestDriver(summing(), limits=limits) as driver:
        driver.pipe(NUMBERS, "a", 1, timestamp=5)
        with pytest.raises(RecordRefusedError) as caught:
            driver.pipe_batch(NUMBERS, records([("b", 1), (long, 2)], at=6))
        error = caught.value
        assert "changelog 'sums-log' rejects a row of store 'sums'" in error.message
        assert "larger than the topic's maximum of 552" in error.message
        assert (error.where.store, error.where.target) == ("sums", "sums-log")
        assert error.where.key == long.encode()
        assert error.where.group == "numbers"
        assert error.hint.startswith("write smaller records, or raise max.message.bytes")
        assert "nothing of this batch was kept" in error.hint
        assert driver.read(LOG) == [Record("a", 1, 5)]


def test_time_of_logged_row_is_moved_into_limits_of_topic() -> None:
    limits = {"sums-log": TopicLimits(least_time=1, after_ms=3_600_000)}
    with TopologyTestDriver(summing(), limits=limits) as driver:
        now = driver.clock.now_ms()
        driver.pipe(NUMBERS, "a", 1, timestamp=0)
        driver.pipe(NUMBERS, "b", 1, timestamp=now + 2 * 3_600_000)
        assert driver.read(LOG) == [Record("a", 1, 1), Record("b", 1, now + 3_600_000)]


def test_changelog_partition_of_row_is_partition_of_its_task() -> None:
    keys = [f"k{n}" for n in range(20)]
    with TopologyTestDriver(summing(), partitions={"numbers": 3}) as driver:
        driver.pipe_batch(NUMBERS, records([(key, 1) for key in keys], at=5))
        rows = driver.read_rows("sums-log")
    assert {row.key: row.partition for row in rows} == {
        key.encode(): partition_of(key.encode(), 3) for key in keys
    }
    assert len({row.partition for row in rows}) == 3


def test_logged_windows_are_read_by_windowed_serde() -> None:
    windows = TumblingWindows(milliseconds(10))
    counts = window_store("w", key=TEXT, value=INT64).with_changelog("w-log")
    builder = TopologyBuilder("windows")
    numbers = builder.add_source("numbers", NUMBERS)
    builder.add_processor("count", windowed_aggregate(windows, count(), store=counts), numbers)
    log = Topic("w-log", windowed(TEXT, windows), INT64, nulls="pass")
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(NUMBERS, [Record("a", 1, 1), Record("a", 1, 4), Record("b", 1, 12)])
        found = {record.key: record.value for record in driver.read(log)}
        assert found == {Windowed("b", 10, 20): 1}  # the closed window was not logged
        driver.pipe_batch(NUMBERS, [Record("b", 1, 40)])
        assert {r.key: r.value for r in driver.read(log)} == {
            Windowed("b", 10, 20): None,
            Windowed("b", 40, 50): 1,
        }


class CustomKind(StoreKind[object]):
    """A store kind that defines only `open`."""

    def open(self, spec: StoreSpec[object], overlay: Overlay) -> object:
        return overlay.store(spec.name, spec.key, spec.value)


def test_changelog_topic_in_use_or_without_support_is_rejected() -> None:
    builder = TopologyBuilder("wrong")
    numbers = builder.add_source("numbers", NUMBERS)
    stores = [
        PLAIN.with_changelog("numbers"),
        key_value_store("other", key=TEXT, value=INT64).with_changelog("same"),
        key_value_store("third", key=TEXT, value=INT64).with_changelog("same"),
        StoreSpec("list", CustomKind("own"), TEXT, INT64).with_changelog("list-log"),
    ]
    builder.add_processor("sum", adding(stores[0]), numbers, stores=stores)  # type: ignore[arg-type]  # not the subject of the test
    with pytest.raises(TopologyError) as caught:
        builder.build()
    text = "\n".join(caught.value.problems)
    assert "store 'sums' has the changelog 'numbers', a topic of node 'numbers'" in text
    assert "store 'third' has the changelog 'same', a topic of store 'other'" in text
    assert "store 'list' is of kind 'own', which does not support changelogs" in text


def test_description_and_pictures_show_changelog() -> None:
    topology = summing()
    assert "changelog: sums-log)" in topology.describe()
    assert "s0 --> t1" in topology.to_mermaid()
    assert 't1[/"sums-log"/]' in topology.to_mermaid()
    assert "s0 -> t1;" in topology.to_dot()
    assert "changelog" not in summing(PLAIN).describe()
