"""Failures raise a typed error that names the place, and lose nothing.

Each test removes the cause and continues with a new app on the same checkpoint: the counts equal
the model, and the topic has each result once.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    TopologyBuilder,
    key_value_store,
    map_values,
)
from kstreams.errors import (
    AppLockedError,
    CheckpointMismatchError,
    CompileError,
    DeserializationError,
    ExecutionError,
    KStreamsError,
    PartitionCountError,
    ProcessingError,
    SerializationError,
    StateCorruptError,
    StoreOpenError,
    TopologyError,
    UnknownTopicError,
)
from kstreams.partitioner import partition_of
from kstreams.state import Memory
from kstreams_rocksdb import RocksDB
from tests.kstreams.spark.failing_processors import FailingCount, Trap, WrongCount, WrongStore
from tests.support.spark.bench import (
    COUNTS,
    TOTALS,
    WORDS,
    Bench,
    Count,
    counting,
    expected_totals,
    sums,
)

pytestmark = pytest.mark.spark

GOOD = [(f"k{n % 5}", "x") for n in range(20)]
MORE = [("k1", "x"), ("bad", "x"), ("k2", "x")]
BAD_PARTITION = partition_of(b"bad", 2)


def check(bench: Bench, written: list[tuple[str, str]]) -> None:
    assert Counter(bench.records(TOTALS)) == expected_totals(written)
    assert bench.store(counting(), COUNTS) == Counter(key for key, _ in written)


def offset_of_bad(written: list[tuple[str, str]]) -> int:
    return sum(partition_of(k.encode(), 2) == BAD_PARTITION for k, _ in written)


def fail(bench: Bench, kind: type[KStreamsError], **options: Any) -> KStreamsError:
    """Write records that fail a running app; return the error."""
    topology = options.pop("topology", counting())
    with bench.app(topology, **options) as app:
        app.open()
        app.drain()
        bench.emit(WORDS, MORE)
        with pytest.raises(kind) as caught:
            app.drain()
        assert type(caught.value) is kind
        assert app.failure is caught.value
        assert caught.value.where.app == "counting"
    check(bench, GOOD)
    return caught.value


@pytest.fixture
def begun(bench: Bench) -> Bench:
    bench.create(WORDS)
    bench.emit(WORDS, GOOD)
    return bench


@pytest.mark.parametrize("processor", [FailingCount, WrongCount, WrongStore])
def test_error_of_user_code_names_record(begun: Bench, processor: Any) -> None:
    trap = Trap(begun.home / "trap")
    trap.arm()
    kind = ProcessingError if processor is FailingCount else SerializationError
    error = fail(begun, kind, topology=counting(lambda: processor(trap)))
    where = error.where
    assert (where.group, where.partition) == ("words", BAD_PARTITION)
    if processor is FailingCount:
        assert isinstance(error, ProcessingError)
        assert (where.node, where.topic, where.offset) == (
            "count",
            "words",
            offset_of_bad(GOOD + MORE[:1]),
        )
        assert where.key in (b"bad", "bad")
        assert "this record is bad" in error.message
        assert error.cause_type == "builtins.RuntimeError"
        assert "failing_processors.py" in error.cause_traceback
        assert "failing_processors.py" in str(error.__cause__)
    elif processor is WrongStore:
        assert (where.store, where.key) == ("counts", "bad")
    else:
        assert (where.node, where.target) == ("totals", "totals")
        assert where.key is not None
    assert error.hint
    trap.disarm()
    begun.run(counting())
    check(begun, GOOD + MORE)


def test_error_of_undecodable_bytes_names_place(begun: Bench) -> None:
    with begun.app(counting()) as app:
        app.open()
        app.drain()
        begun.emit(Topic("words", TEXT, INT64), [("bad", 2**63 - 1)])
        begun.emit(WORDS, MORE)
        with pytest.raises(DeserializationError) as caught:
            app.drain()
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == (
        "words",
        BAD_PARTITION,
        offset_of_bad(GOOD),
    )
    assert where.key == b"bad"
    check(begun, GOOD)
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS, on_error="skip")
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("count", Count, words, stores=[COUNTS])
    )
    begun.run(builder.build())
    check(begun, GOOD + MORE)
    assert sums(begun.reports) == {"skipped-DeserializationError": 1}


def test_error_of_backend_that_cannot_open_names_directory(begun: Bench) -> None:
    occupied = begun.home / "occupied"
    occupied.write_text("a file")
    with pytest.raises(StoreOpenError) as caught:
        begun.run(counting(), state=RocksDB(directory=str(occupied)))
    assert str(occupied) in str(caught.value)
    assert caught.value.where.group == "words"
    assert caught.value.hint
    occupied.unlink()
    begun.run(counting(), state=RocksDB(directory=str(occupied)))
    check(begun, GOOD)


def test_damaged_durable_state_raises_at_restore_on_empty_disk(begun: Bench) -> None:
    begun.run(counting(), state=Memory(directory=str(begun.home / "one")))
    packs = sorted((begun.checkpoint / "state").rglob("*.pack"))
    assert packs
    kept = {file: file.read_bytes() for file in packs}
    for file, data in kept.items():
        file.write_bytes(data[: len(data) // 2])
    begun.emit(WORDS, MORE)
    with pytest.raises(StateCorruptError) as caught:
        begun.run(counting(), state=Memory(directory=str(begun.home / "two")))
    assert caught.value.where.group == "words"
    assert any(file.name in str(caught.value) for file in kept)
    assert caught.value.hint
    for file, data in kept.items():
        file.write_bytes(data)
    begun.run(counting(), state=Memory(directory=str(begun.home / "three")))
    check(begun, GOOD + MORE)


def test_error_of_missing_topic_names_it(bench: Bench) -> None:
    with pytest.raises(UnknownTopicError) as caught:
        bench.run(counting())
    assert "words" in str(caught.value)
    assert not (bench.checkpoint / "app.json").exists()
    bench.create(WORDS)
    bench.emit(WORDS, GOOD)
    bench.run(counting())
    check(bench, GOOD)


def test_error_of_different_partition_counts_names_topics(bench: Bench) -> None:
    other = Topic("more-words", TEXT, TEXT)
    builder = TopologyBuilder("counting")
    both = [builder.add_source("words", WORDS), builder.add_source("more", other)]
    builder.add_sink(
        "totals", TOTALS, builder.add_processor("count", Count, *both, stores=[COUNTS])
    )
    topology = builder.build()
    bench.create(WORDS, partitions=2)
    bench.create(other, partitions=3)
    with pytest.raises(PartitionCountError) as caught:
        bench.run(topology)
    text = str(caught.value)
    assert "topic 'words' has 2" in text
    assert "topic 'more-words' has 3" in text
    assert "Hint: " in text
    bench.connection.admin().delete(other.name)
    bench.create(other, partitions=2)
    bench.emit(WORDS, GOOD)
    bench.emit(other, MORE)
    bench.run(topology)
    assert bench.store(topology, COUNTS) == Counter(key for key, _ in GOOD + MORE)


def test_two_stores_of_one_name_are_rejected_by_build() -> None:
    class CountTwice(Count):
        pass

    builder = TopologyBuilder("twice")
    words = builder.add_source("words", WORDS)
    counts = builder.add_processor("one", Count, words, stores=[COUNTS])
    texts = builder.add_processor("text", map_values(str), counts)
    other = key_value_store("counts", key=TEXT, value=TEXT)
    builder.add_sink("out", TOTALS, builder.add_processor("two", CountTwice, texts, stores=[other]))
    with pytest.raises(TopologyError, match="'counts'") as caught:
        builder.build()
    assert caught.value.problems


def test_checkpoint_of_another_topology_is_rejected_unchanged(begun: Bench) -> None:
    begun.run(counting())
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    renamed = key_value_store("totals", key=TEXT, value=INT64)
    builder.add_processor("count", lambda: _Other(renamed), words, stores=[renamed])
    with pytest.raises(CheckpointMismatchError, match="'counts' is no longer in the topology"):
        begun.run(builder.build())
    begun.emit(WORDS, MORE)
    begun.run(counting())
    check(begun, GOOD + MORE)


class _Other(FixedKeyProcessor[str, str, int]):
    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(1))


def test_second_app_on_checkpoint_is_rejected_while_first_continues(begun: Bench) -> None:
    with begun.app(counting()) as first:
        first.open()
        with pytest.raises(AppLockedError, match="is in use by another app") as caught:
            begun.app(counting()).open()
        assert '"pid"' in caught.value.owner
        first.drain()
    begun.emit(WORDS, MORE)
    begun.run(counting())
    check(begun, GOOD + MORE)


def test_error_of_processor_that_cannot_be_pickled_names_it(begun: Bench) -> None:
    lock = Lock()

    def add(value: str) -> str:
        with lock:
            return value

    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    same = builder.add_processor("locked", map_values(add), words)
    builder.add_sink("totals", TOTALS, builder.add_processor("count", Count, same, stores=[COUNTS]))
    with pytest.raises(CompileError, match="cannot be sent to executors") as caught:
        begun.run(builder.build())
    assert caught.value.where.node == "locked"
    begun.run(counting())
    check(begun, GOOD)


def test_drain_before_open_and_batch_size_zero_are_rejected(begun: Bench, tmp_path: Path) -> None:
    app = begun.app(counting())
    with pytest.raises(ExecutionError, match="call open"):
        app.drain()
    app.close()
    with pytest.raises(CompileError, match="at least 1"):
        begun.app(counting(), max_records_per_batch=0)
