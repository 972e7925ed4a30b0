"""The test driver reads global tables as of the last commit, also those of real apps."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    Node,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    filter_,
    map_,
)
from kstreams.durations import days
from kstreams.errors import (
    CheckpointMismatchError,
    NoCheckpointError,
    ProcessingError,
    TopologyError,
)
from kstreams.ids import TaskId
from kstreams.joins import inner, left
from kstreams.processors.columns import Execution
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.versioned.store import VersionedValue
from kstreams.stores import timestamped_store, versioned_key_value_store
from kstreams.testing import TopologyTestDriver
from kstreams.topology import AppTable, Topology
from kstreams_json import json_serde
from tests.support.apps.committing_app import Committing

WORDS = Topic("words", TEXT, TEXT)
TEXTS, OUT = Topic("texts", INT64, TEXT), Topic("out", INT64, TEXT)
TABLE = timestamped_store("table", key=TEXT, value=TEXT)
RATES = versioned_key_value_store("rates", key=TEXT, value=TEXT, retention=days(1))
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


class Translate(Processor[int, str, int, str]):
    """Looks up each word in the table."""

    def init(self, context: ProcessorContext[int, str]) -> None:
        self.context = context
        self.words = context.reader(TABLE)

    def process(self, record: Record[int, str]) -> None:
        words = record.value.split(" ")
        found = self.words.get_many(words)
        assert found == [self.words.get(word) for word in words]
        text = " ".join(new or word for word, new in zip(words, found, strict=True))
        self.context.forward(record.with_value(text))


def translating() -> Topology:
    builder = TopologyBuilder("translating")
    builder.add_global_table("words", WORDS, store=TABLE)
    texts = builder.add_source("texts", TEXTS)
    builder.add_sink("out", OUT, builder.add_processor("t", Translate, texts, reads=[TABLE]))
    return builder.build()


def _both(text: str, word: str | None) -> str:
    return f"{text}={word}"


def joining(
    store: StoreSpec[object],
    *,
    keeps_all: bool = True,
    chain: bool = False,
    execution: Execution = "auto",
) -> Topology:
    """Return a topology: texts -> join -> out; `chain` adds another join and other nodes."""
    builder = TopologyBuilder("joining")
    words = builder.add_global_table("words", WORDS, store=store)  # type: ignore[arg-type]  # either kind
    joiner: Any = left(_both) if keeps_all else inner(_both)
    texts: Node[int, str] = builder.add_source("texts", TEXTS)
    if chain:
        texts = builder.join_global(
            "before", texts, words, left(lambda text, _: text), by=lambda _, text: text or None
        )
        texts = builder.add_processor("few", filter_(lambda key, _: key != 3), texts)
    node = builder.join_global(
        "join", texts, words, joiner, by=lambda _, text: text or None, execution=execution
    )
    if chain:
        node = builder.add_processor("more", map_(lambda key, text: (key + 1, f"{text}!")), node)
    builder.add_sink("out", OUT, node)
    return builder.build()


def values(driver: TopologyTestDriver) -> Sequence[str]:
    return [record.value for record in driver.read(OUT)]


@pytest.mark.parametrize("recreate", [False, True])
def test_each_task_reads_all_rows_of_table_by_any_key(recreate: bool) -> None:
    partitions = {"words": 3, "texts": 2, "out": 2}
    with TopologyTestDriver(
        translating(), partitions=partitions, recreate_processors=recreate
    ) as driver:
        for word in "abcdef":
            driver.write(WORDS, word, word.upper())
        for number in range(6):
            driver.write(TEXTS, number, "a b c d e f x")
        driver.run()
        assert values(driver) == ["A B C D E F x"] * 6
        driver.pipe(WORDS, "a", "AA")
        driver.pipe(TEXTS, 1, "a")
        assert values(driver) == ["AA"]


def test_left_global_join_of_deleted_row_and_null_key_gets_none() -> None:
    with TopologyTestDriver(translating()) as driver:
        driver.pipe(WORDS, "a", "A")
        driver.write_bytes("words", b"a", None, timestamp=0)
        driver.write_bytes("words", None, b"x", timestamp=0)
        driver.pipe(TEXTS, 1, "a")
        assert values(driver) == ["a"]
        assert driver.dropped == {"null-key": 1}


def test_retry_of_failed_batch_reads_global_table_again() -> None:
    class Failing(Translate):
        failed = False

        def process(self, record: Record[int, str]) -> None:
            if not Failing.failed:
                Failing.failed = True
                raise ValueError("once")
            super().process(record)

    builder = TopologyBuilder("failing")
    builder.add_global_table("words", WORDS, store=TABLE)
    texts = builder.add_source("texts", TEXTS)
    builder.add_sink("out", OUT, builder.add_processor("t", Failing, texts, reads=[TABLE]))
    with TopologyTestDriver(builder.build()) as driver:
        driver.write(WORDS, "a", "A")
        with pytest.raises(ProcessingError):
            driver.pipe(TEXTS, 1, "a")
        driver.run()
        assert values(driver) == ["A"]


def test_left_join_keeps_record_without_row_and_inner_join_counts_null_keys() -> None:
    with TopologyTestDriver(joining(TABLE)) as driver:
        driver.pipe(WORDS, "a", "A")
        for text in ("a", "b", ""):
            driver.pipe(TEXTS, 1, text)
        assert values(driver) == ["a=A", "b=None", "=None"]
    with TopologyTestDriver(joining(TABLE, keeps_all=False)) as driver:
        driver.pipe(WORDS, "a", "A")
        for text in ("a", "b", ""):
            driver.pipe(TEXTS, 1, text)
        assert values(driver) == ["a=A"]
        assert driver.dropped == {"null-foreign-key": 1}


@pytest.mark.parametrize("partitions", [1, 3])
def test_versioned_table_is_read_as_of_time_of_record(partitions: int) -> None:
    with TopologyTestDriver(joining(RATES), partitions=partitions) as driver:
        driver.pipe(WORDS, "a", "old", timestamp=10)
        driver.pipe(WORDS, "a", "new", timestamp=20)
        for time in (5, 10, 19, 20):
            driver.pipe(TEXTS, 1, "a", timestamp=time)
        assert values(driver) == ["a=None", "a=old", "a=old", "a=new"]


class Counting(Processor[int, str, int, str]):
    """Forwards the count of a key in another app's table, and all counts."""

    def init(self, context: ProcessorContext[int, str]) -> None:
        self.context = context
        self.counts = context.reader(COUNTS)

    def process(self, record: Record[int, str]) -> None:
        rows = ",".join(f"{key}{count}" for key, count in self.counts.range("a", "c"))
        self.context.forward(record.with_value(f"{self.counts.get(record.value)} {rows}"))


def counting(checkpoint: Path) -> Topology:
    builder = TopologyBuilder("counting")
    builder.add_global_table("counts", AppTable(checkpoint, COUNTS))
    texts = builder.add_source("texts", TEXTS)
    builder.add_sink("out", OUT, builder.add_processor("c", Counting, texts, reads=[COUNTS]))
    return builder.build()


def test_driver_fill_simulates_table_of_another_app(tmp_path: Path) -> None:
    app = Committing(tmp_path / "app", COUNTS)
    put(app, a=9)
    with TopologyTestDriver(counting(tmp_path / "app"), partitions=2) as driver:
        driver.fill(COUNTS, {"a": (1, 0), "b": (2, 0)})
        driver.pipe(TEXTS, 1, "a")
        driver.fill(COUNTS, {"a": (5, 0)})
        put(app, a=10)
        driver.pipe(TEXTS, 1, "a")
        assert values(driver) == ["1 a1,b2", "5 a5,b2"]


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("execution", ["records", "auto"])
def test_driver_fill_puts_rows_into_global_table(partitions: int, execution: Execution) -> None:
    with TopologyTestDriver(joining(TABLE, execution=execution), partitions=partitions) as driver:
        driver.pipe(TEXTS, 1, "a")
        driver.fill(TABLE, {key: (key.upper(), 0) for key in "abcdef"})
        driver.pipe(TEXTS, 1, "a")
        driver.pipe(WORDS, "b", "BB")
        driver.pipe(TEXTS, 1, "b")
        driver.pipe(TEXTS, 1, "f")
        assert values(driver) == ["a=None", "a=A", "b=BB", "f=F"]


def test_driver_fill_puts_versions_into_global_table() -> None:
    topology = joining(RATES)
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.fill(RATES, {"a": VersionedValue("A", 50, None)})
        driver.pipe(TEXTS, 1, "a", timestamp=40)
        driver.pipe(TEXTS, 1, "a", timestamp=60)
        assert values(driver) == ["a=None", "a=A"]


@pytest.mark.parametrize("execution", ["records", "auto"])
def test_driver_fill_puts_rows_into_joined_table(execution: Execution) -> None:
    builder = TopologyBuilder("orders")
    names = Topic("names", TEXT, TEXT)
    orders = Topic("orders", TEXT, TEXT)
    table = builder.add_table("names", names, store=TABLE)
    stream: Node[str, str] = builder.add_source("orders", orders)
    joined = builder.join_table("join", stream, table, left(_both), execution=execution)
    out = Topic("out", TEXT, TEXT)
    builder.add_sink("out", out, joined)
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        driver.fill(TABLE, {"a": ("A", 0), "b": ("B", 0)})
        driver.pipe(orders, "a", "1")
        driver.pipe(names, "a", "AA")
        driver.pipe(orders, "a", "2")
        driver.fill(TABLE, {"b": ("BB", 0)})
        driver.pipe(orders, "b", "3")
        assert [record.value for record in driver.read(out)] == ["1=A", "2=AA", "3=BB"]


def put(app: Committing, **counts: int) -> None:
    """Commit counts of an app."""

    def change(store: object, partition: int) -> None:
        for key, count in counts.items():
            if ord(key) % 3 == partition:
                store.put(key, count, 0)  # type: ignore[attr-defined]  # a timestamped store

    app.commit(change)


def test_table_of_another_app_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    app = Committing(tmp_path / "app", COUNTS)
    with TopologyTestDriver(counting(tmp_path / "app"), partitions=2) as driver:
        driver.pipe(TEXTS, 1, "a")
        put(app, a=1, b=2, c=3)
        driver.pipe(TEXTS, 1, "a")
        put(app, a=5)
        driver.pipe(TEXTS, 1, "a")
        assert values(driver) == ["None ", "1 a1,b2", "5 a5,b2"]


def test_missing_app_or_table_raises(tmp_path: Path) -> None:
    with TopologyTestDriver(counting(tmp_path / "app")) as driver:
        for _ in range(2):
            with pytest.raises(NoCheckpointError, match="no checkpoint"):
                driver.pipe(TEXTS, 1, "a")
        driver.fill(COUNTS, {"a": (1, 0)})
        driver.run()
        assert values(driver) == ["1 a1"] * 2  # both records of the failed calls
    Committing(tmp_path / "app", TABLE)
    with pytest.raises(CheckpointMismatchError, match="has no store 'counts'"):
        TopologyTestDriver(counting(tmp_path / "app"))


class ByRecord:
    """An interceptor of records; no columns run around it."""

    def bind(
        self, node: str, task: TaskId, call: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        return call


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("keeps_all", [True, False])
@pytest.mark.parametrize("partitions", [1, 3])
def test_global_table_joins_by_columns_equal_those_by_records(
    partitions: int, keeps_all: bool, chain: bool
) -> None:
    topology = joining(TABLE, keeps_all=keeps_all, chain=chain)
    assert "execution: records" not in topology.describe()
    chance = random.Random(partitions)
    batches = [
        (
            [(chance.choice("abcdef"), chance.choice(["x", "y", None])) for _ in range(4)],
            [chance.choice(["", "a", "b", "c", "z", None]) for _ in range(20)],
        )
        for _ in range(10)
    ]
    found = []
    for interceptors in ((), (ByRecord(),)):
        with TopologyTestDriver(
            topology, partitions=partitions, interceptors=interceptors
        ) as driver:
            for words, texts in batches:
                for word, name in words:
                    value = None if name is None else name.encode()
                    driver.write_bytes("words", word.encode(), value, timestamp=0)
                for number, text in enumerate(texts):
                    data = None if text is None else text.encode()
                    key = INT64.serialize(number % 5)
                    driver.write_bytes("texts", key, data, timestamp=number)
                driver.run()
            found.append((driver.read_rows("out"), driver.dropped))
    assert found[0] == found[1]
    assert found[0][0]


def test_execution_of_global_join_can_be_requested() -> None:
    assert (
        "execution: records (execution='records')" in joining(TABLE, execution="records").describe()
    )
    with pytest.raises(TopologyError, match="node 'join' cannot run by columns: its table is vers"):
        joining(RATES, execution="columns")


@pytest.mark.parametrize("immutable", [True, False])
def test_cached_rows_belong_to_version_of_batch(immutable: bool) -> None:
    """Cached values of one version are neither used in the next version nor changed by readers."""
    words = Topic("words", TEXT, TEXT if immutable else json_serde(list[str]))
    store = timestamped_store("table", key=TEXT, value=words.value)

    class Reads(Processor[int, str, int, str]):
        def init(self, context: ProcessorContext[int, str]) -> None:
            self.context = context
            self.words = context.reader(store)

        def process(self, record: Record[int, str]) -> None:
            found: Any = self.words.get(record.value)
            assert found == self.words.get_many([record.value])[0]
            self.context.forward(record.with_value(str(found)))
            if isinstance(found, list):
                found.append("spoilt")

    builder = TopologyBuilder("reads")
    builder.add_global_table("words", words, store=store)
    node = builder.add_processor("r", Reads, builder.add_source("texts", TEXTS), reads=[store])
    builder.add_sink("out", OUT, node)
    first: Any = "x" if immutable else ["x"]
    second: Any = "y" if immutable else ["y"]
    with TopologyTestDriver(builder.build(), partitions=3) as driver:
        driver.pipe(TEXTS, 1, "a")
        driver.pipe(words, "a", first)
        driver.pipe(TEXTS, 1, "a")
        driver.pipe(TEXTS, 1, "a")
        driver.pipe(words, "a", second)
        driver.pipe(TEXTS, 1, "a")
        assert values(driver) == ["None", str(first), str(first), str(second)]
