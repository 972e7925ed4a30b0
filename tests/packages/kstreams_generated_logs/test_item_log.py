"""`items`: a list as a log, distributed round-robin to partitions."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, App, Embedded, Topic, TopologyBuilder, map_
from kstreams.errors import CompileError, DataLossError, SerializationError, TopicRecreatedError
from kstreams.log import Piece
from kstreams.raw_batch import NO_LIMIT
from kstreams.sources import Log, items
from kstreams.testing import LogContract, TopologyTestDriver

SHOUTS = Topic("shouts", key=TEXT, value=TEXT)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class TestContract(LogContract[None, str]):
    """Each `make` returns a log of the values added so far."""

    @pytest.fixture(autouse=True, params=[1, 3])
    def _place(self, request: pytest.FixtureRequest) -> None:
        self.values: list[str] = []
        self.partitions: int = request.param

    def make(self) -> Log[None, str]:
        every = timedelta(milliseconds=2)
        return items("words", self.values, TEXT, partitions=self.partitions, every=every)

    def add(self, values: Sequence[str]) -> None:
        self.values += values

    def test_contents_opened_twice_have_same_log_id_and_offsets(self) -> None:
        """Adapt the contract to a fixed list, which does not grow."""
        with closing(self.make().contents()) as one:
            before = one.log_id
            self.add(["more"])
            assert set(one.ends().values()) == {0}
            with closing(self.make().contents()) as other:
                assert sum(other.ends().values()) == 1
                assert other.log_id != before


def test_item_log_distributes_values_round_robin_with_their_times() -> None:
    log = items("words", iter("abcde"), TEXT, partitions=2, start=START, every=timedelta(seconds=1))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        assert contents.ends() == {0: 3, 1: 2}
        table = reader.read(Piece(1, 0, 2), max_bytes=NO_LIMIT)
        assert table.column("value").to_pylist() == [b"b", b"d"]
        first = int(START.timestamp() * 1000)
        assert table.column("timestamp").to_pylist() == [first + 1_000, first + 3_000]
        with pytest.raises(DataLossError, match="fewer records"):
            reader.read(Piece(1, 0, 3), max_bytes=NO_LIMIT)


def shouted_by_itself(_: None, word: str) -> tuple[str, str]:
    return word, word.upper()


def test_topology_reads_list_in_place_of_topic() -> None:
    builder = TopologyBuilder("shouting")
    words = builder.add_source("words", items("words", ["to", "be"], TEXT, partitions=2))
    shouted = builder.add_processor("up", map_(shouted_by_itself), words)
    builder.add_sink("out", SHOUTS, shouted)
    with TopologyTestDriver(builder.build(), real_sources=True) as driver:
        driver.run()
        driver.run()
        assert sorted(record.value for record in driver.read(SHOUTS)) == ["BE", "TO"]


@pytest.mark.spark
def test_another_list_with_same_name_is_rejected(tmp_path: Path) -> None:
    topics = Embedded(tmp_path / "topics")

    def app(*words: str) -> App:
        builder = TopologyBuilder("shouting")
        source = builder.add_source("words", items("words", words, TEXT))
        shouted = builder.add_processor("up", map_(shouted_by_itself), source)
        builder.add_sink("out", SHOUTS, shouted)
        return App(builder.build(), topics, checkpoint=tmp_path / "checkpoint")

    for _ in range(2):
        app("to", "be").run(until="end")
    reader = topics.reader()
    ends = topics.admin().end_offsets("shouts")
    found = [r.value or b"" for p, end in ends.items() for r in reader.read("shouts", p, 0, end)]
    assert sorted(found) == [b"BE", b"TO"]
    with pytest.raises(TopicRecreatedError):
        app("or", "not").run(until="end")


def test_invalid_arguments_of_item_log_are_rejected() -> None:
    with pytest.raises(CompileError, match="cannot name a log"):
        items("a/b", [], TEXT)
    with pytest.raises(CompileError, match="partition count"):
        items("words", [], TEXT, partitions=0)
    with pytest.raises(SerializationError):
        items("words", ["a"], INT64)  # type: ignore[misc]  # the invalid argument
    with pytest.raises(ValueError, match="every"):
        items("words", [], TEXT, every=timedelta(-1))
    log = items("words", ["a"], TEXT)
    assert pickle.loads(pickle.dumps(log)) == log  # a trusted pickle
