"""The test driver: partitions, batches, groups, clock, stores, failures."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    Record,
    Topic,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.errors import (
    PartitionCountError,
    TopologyError,
    UnknownTopicError,
)
from kstreams.operators import reduce
from kstreams.partitioner import partition_by, partition_of
from kstreams.state.backend.memory import Memory
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.topology import to_stdout
from kstreams_testing.driver import TopologyTestDriver
from tests.support.topologies.counting_topologies import (
    COUNTS,
    LINES,
    TOTALS,
    WORDS,
    Count,
    Forgetful,
    Ticking,
    counting,
    word_count,
)


def test_driver_counts_words_over_many_partitions_and_a_repartition() -> None:
    with TopologyTestDriver(word_count(), partitions=3) as driver:
        lines = ["a b a", "c b", "a"]
        driver.pipe_batch(LINES, [Record(None, line, n) for n, line in enumerate(lines)])
        assert driver.read_values(TOTALS) == {"a": 3, "b": 2, "c": 1}
        assert driver.read(TOTALS) == []
        driver.pipe(LINES, None, "b d", timestamp=9)
        assert {r.key: r.value for r in driver.read(TOTALS)} == {"b": 3, "d": 1}
        assert driver.store_contents(COUNTS) == {"a": 3, "b": 3, "c": 1, "d": 1}
        for word in "abcd":
            owner = partition_of(word.encode(), 3)
            assert driver.store(COUNTS, owner).get(word) is not None


def test_read_rows_of_driver_have_partition_and_offset() -> None:
    with TopologyTestDriver(counting(), partitions={"words": 2, "totals": 4}) as driver:
        for word in "abcdef":
            driver.pipe(WORDS, word, 1, timestamp=5, headers=(("h", b"1"),))
        rows = driver.read_rows("totals")
        assert [row.key for row in rows if row.key] == [word.encode() for word in "abcdef"]
        for row in rows:
            assert row.partition == partition_of(row.key or b"", 4)
            assert (row.timestamp, row.headers) == (5, (("h", b"1"),))
        assert [row.offset for row in rows if row.partition == rows[0].partition][:2] == [0, 1]


def test_partitioner_of_topic_chooses_partition() -> None:
    everything_to_one = partition_by(lambda key, count: 1 % count, name="one")
    words = Topic("words", TEXT, INT64, partitioner=everything_to_one)
    builder = TopologyBuilder("t")
    counted = builder.add_processor("c", Count, builder.add_source("w", words), stores=[COUNTS])
    builder.add_sink("totals", TOTALS, counted)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.pipe_batch(words, [Record(word, 1) for word in "abc"])
        assert dict(driver.store(COUNTS, 1).range()) == {"a": 1, "b": 1, "c": 1}
        assert driver.stream_time("w", 0) == -1
        assert driver.stream_time("w", 1) == 0


def test_driver_runs_groups_until_their_topics_are_read() -> None:
    middle = Topic("middle", TEXT, INT64)
    builder = TopologyBuilder("chain")
    source = builder.add_source("words", WORDS)
    builder.add_sink("middle", middle, source)
    again = builder.add_source("again", middle)
    builder.add_sink("totals", TOTALS, again)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.pipe(WORDS, "a", 1, timestamp=3)
        assert driver.read(TOTALS) == driver.read(middle) == [Record("a", 1, 3)]


def test_cycle_of_topics_runs_until_no_records_are_left() -> None:
    class Down(FixedKeyProcessor[str, int, int]):
        def process(self, record: Record[str, int]) -> None:
            if record.value:
                self.context.forward(record.with_value(record.value - 1))

    builder = TopologyBuilder("cycle")
    down = builder.add_processor("down", Down, builder.add_source("words", WORDS))
    builder.add_sink("back", WORDS, down)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.pipe(WORDS, "a", 3)
        assert [record.value for record in driver.read(WORDS)] == [3, 2, 1, 0]


MOST = timestamped_store("most", key=TEXT, value=INT64)


def test_different_partition_counts_before_store_are_rejected() -> None:
    builder = TopologyBuilder("t")
    left, right = (builder.add_source(name, Topic(name, TEXT, INT64)) for name in ("l", "r"))
    kept = builder.add_processor("sum", reduce(max, store=MOST), left, right)
    builder.add_sink("out", TOTALS, kept)
    with pytest.raises(PartitionCountError, match="topic 'l' has 2, topic 'r' has 3"):
        TopologyTestDriver(builder.build(), partitions={"l": 2, "r": 3})


@pytest.mark.parametrize("recreate", [False, True])
def test_wall_clock_punctuator_fires_in_each_task_and_once_after_jump(recreate: bool) -> None:
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    origin = int(start.timestamp() * 1000)
    builder = TopologyBuilder("t")
    node = builder.add_processor("tick", Ticking, builder.add_source("words", WORDS))
    builder.add_sink("totals", TOTALS, node)
    driver = TopologyTestDriver(
        builder.build(), partitions=2, start=start, recreate_processors=recreate
    )
    driver.advance_wall_clock(timedelta(seconds=59))
    assert driver.read(TOTALS) == []
    driver.advance_wall_clock(timedelta(seconds=1))
    assert driver.read_values(TOTALS) == {f"tick-{n}": origin + 60_000 for n in (0, 1)}
    driver.advance_wall_clock(timedelta(minutes=5, seconds=30))
    assert [r.timestamp - origin for r in driver.read(TOTALS)] == [390_000] * 2
    driver.advance_wall_clock(timedelta(seconds=30))
    assert [r.timestamp - origin for r in driver.read(TOTALS)] == [420_000] * 2
    driver.pipe(WORDS, "a", 1)
    assert driver.read(TOTALS) == [Record("a", 1, origin + 420_000)]
    driver.close()


@pytest.mark.parametrize(("recreate", "found"), [(False, [1, 2, 3]), (True, [1, 2, 1])])
def test_recreate_processors_reveals_state_kept_in_attributes(
    recreate: bool, found: list[int]
) -> None:
    with TopologyTestDriver(counting(Forgetful), recreate_processors=recreate) as driver:
        driver.pipe_batch(WORDS, [Record("a", 1), Record("a", 1)])
        driver.pipe(WORDS, "a", 1)
        assert [record.value for record in driver.read(TOTALS)] == found


def test_store_opened_from_driver_shows_later_changes(tmp_path: Path) -> None:
    for state in (None, Memory()):
        for recreate in (False, True):
            driver = TopologyTestDriver(
                counting(),
                state=state,
                directory=tmp_path / str(recreate),
                recreate_processors=recreate,
            )
            with driver:
                counts = driver.store(COUNTS)
                assert counts.get("a") is None
                driver.pipe(WORDS, "a", 1)
                assert counts.get("a") == 1
                counts.put("a", 10)
                driver.pipe(WORDS, "a", 1)
                assert (counts.get("a"), dict(counts.range())) == (11, {"a": 11})


def test_driver_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for state in (None, Memory()):
        with TopologyTestDriver(counting(), state=state, partitions=2) as driver:
            driver.pipe(WORDS, "a", 1)
    assert list(tmp_path.iterdir()) == []


def test_store_of_many_partitions_needs_partition_argument() -> None:
    with TopologyTestDriver(counting(), partitions=2) as driver:
        with pytest.raises(TopologyError, match="has 2 partitions"):
            driver.store(COUNTS)
        with pytest.raises(TopologyError, match="no store 'other'; stores: 'counts'"):
            driver.store(key_value_store("other", key=TEXT, value=INT64))


def test_unknown_topic_and_partition_are_rejected() -> None:
    with TopologyTestDriver(counting(), partitions=2) as driver:
        with pytest.raises(UnknownTopicError, match="sources read 'words'"):
            driver.pipe(TOTALS, "a", 1)
        with pytest.raises(TopologyError, match="has no partition 2; expected 0 to 1"):
            driver.pipe(WORDS, "a", 1, partition=2)


def test_dropped_records_and_printed_lines_are_collected_over_all_batches() -> None:
    builder = TopologyBuilder("t", on_error=DeadLetter("dlq"))
    source = builder.add_source("words", WORDS)
    builder.add_sink("lines", to_stdout(), source)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        for _ in range(2):
            driver.write_bytes("words", b"a", b"bad", timestamp=4)
            driver.write_bytes("words", None, INT64.serialize(1), timestamp=5)
            driver.pipe(WORDS, "a", 1, timestamp=6)
        assert driver.dropped == {"null-key": 2, "dead-letter-DeserializationError": 2}
        assert driver.lines == ["lines: 'a' -> 1 @6"] * 2
        dlq = Topic("dlq", BYTES, BYTES)
        assert [record.value for record in driver.read(dlq)] == [b"bad"] * 2


def test_null_keys_are_distributed_round_robin() -> None:
    lines = Topic("lines", NONE, INT64)
    builder = TopologyBuilder("t")
    builder.add_sink("copy", Topic("copy", NONE, INT64), builder.add_source("lines", lines))
    with TopologyTestDriver(builder.build(), partitions={"lines": 1, "copy": 3}) as driver:
        driver.pipe_batch(lines, [Record(None, n) for n in range(5)])
        assert [row.partition for row in driver.read_rows("copy")] == [0, 1, 2, 0, 1]
