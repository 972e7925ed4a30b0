"""`RecordingSink`, by the contract of sinks, and results of the test driver."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, map_values
from kstreams.errors import ProcessingError, RecordRefusedError, SinkError, TopologyError
from kstreams.sinks import CommitId, Results, Sink, to_batches
from kstreams.testing import RecordingSink, SinkContract, TopologyTestDriver
from kstreams.topology import DeadLetter, OnError

WORDS = Topic("words", key=TEXT, value=TEXT)
LETTERS = Topic("letters", key=TEXT, value=TEXT)


def refuse_long(record: Record[str, int]) -> str | None:
    return "too long" if record.value > 9 else None


class TestRecordingSink(SinkContract):
    bad = Record("a", 10, 5)
    keeps_last = False

    @pytest.fixture(autouse=True)
    def _made(self) -> None:
        self.sink = RecordingSink(refuse_long)

    def make(self) -> Sink[str, int]:
        return self.sink

    def seen(self) -> Iterable[tuple[str, int]]:
        return [(record.key, record.value) for record in self.sink.records()]

    test_pickled_sink_has_same_label_and_guarantee = None  # type: ignore[assignment]  # its rule is a local function


def lengths(sink: Sink[str, int], on_refused: OnError = "fail") -> TopologyBuilder:
    builder = TopologyBuilder("lengths")
    words = builder.add_source("words", WORDS)
    counted = builder.add_processor("length", map_values(len), words)
    builder.add_sink("out", sink, counted, on_refused=on_refused)
    return builder


def test_driver_returns_results_of_sink_once() -> None:
    sink: RecordingSink[str, int] = RecordingSink()
    with TopologyTestDriver(lengths(sink).build(), partitions=2) as driver:
        driver.pipe_batch(WORDS, [Record("a", "one", 5, (("h", b"1"),)), Record("b", "three", 6)])
        found = driver.results(sink)
        assert sorted((r.key, r.value, r.timestamp, r.headers) for r in found) == [
            ("a", 3, 5, (("h", b"1"),)),
            ("b", 5, 6, ()),
        ]
        assert driver.results(sink) == []
        with pytest.raises(TopologyError, match="no sink 'recording'"):
            driver.results(RecordingSink[str, int]())


def test_driver_writes_real_sink_with_increasing_commits() -> None:
    sink: RecordingSink[str, int] = RecordingSink()
    with TopologyTestDriver(lengths(sink).build(), real_sinks=True) as driver:
        driver.pipe(WORDS, "a", "one")
        driver.pipe(WORDS, "a", "three")
        with pytest.raises(TopologyError, match="real_sinks"):
            driver.results(sink)
    first, second = sink.commits
    assert [r.value for r in sink.records()] == [3, 5]
    assert first.order < second.order
    assert (first.sink, first.task) == ("out", 0)
    assert first.fingerprint == lengths(sink).build().fingerprint()


def test_rejected_results_are_counted_and_become_dead_letters_with_reason_and_commit() -> None:
    topology = lengths(RecordingSink(refuse_long), DeadLetter("letters")).build()
    with TopologyTestDriver(topology, real_sinks=True) as driver:
        driver.pipe_batch(WORDS, [Record("a", "one"), Record("b", "x" * 10), Record("c", "two")])
        (letter,) = driver.read_rows("letters")
        assert driver.dropped == {"refused-dead-letter": 1}
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (b"'b'", b"10")
    assert headers["kstreams-error-class"] == b"RecordRefusedError"
    assert b"too long" in (headers["kstreams-error-message"] or b"")
    assert headers["kstreams-error-node"] == b"out"
    assert headers["kstreams-error-topic"] == b"recording"
    assert headers["kstreams-error-commit"] == b"lengths/out/0/1/1"


def test_rejected_results_are_skipped_or_fail_batch() -> None:
    sink = RecordingSink(refuse_long)
    with TopologyTestDriver(lengths(sink, "skip").build(), real_sinks=True) as driver:
        driver.pipe_batch(WORDS, [Record("a", "one"), Record("b", "x" * 10)])
        assert driver.dropped == {"refused-skip": 1}
    assert [r.value for r in sink.records()] == [3]
    failing = RecordingSink(refuse_long)
    with TopologyTestDriver(lengths(failing).build(), real_sinks=True) as driver:
        with pytest.raises(RecordRefusedError, match="too long") as caught:
            driver.pipe(WORDS, "b", "x" * 10)
        assert failing.records() == []
    assert (caught.value.where.node, caught.value.where.target) == ("out", "recording")


def test_sink_function_receives_each_batch_with_its_commit() -> None:
    seen: list[tuple[int, list[int]]] = []

    def send(results: Results[str, int], commit: CommitId) -> None:
        seen.append((commit.task, [record.value for record in results.records()]))

    with TopologyTestDriver(lengths(to_batches(send)).build(), real_sinks=True) as driver:
        driver.pipe_batch(WORDS, [Record("a", "one"), Record("b", "three")])
        driver.run()
    assert seen == [(0, [3, 5])]
    assert to_batches(send).guarantee == "at-least-once"


def test_error_of_failing_writer_names_sink() -> None:
    def broken(results: Results[str, int], commit: CommitId) -> None:
        raise ValueError("not today")

    def gone(results: Results[str, int], commit: CommitId) -> None:
        raise SinkError("no table", "42P01")

    with (
        TopologyTestDriver(lengths(to_batches(broken)).build(), real_sinks=True) as driver,
        pytest.raises(ProcessingError, match="ValueError: not today") as caught,
    ):
        driver.pipe(WORDS, "a", "one")
    assert caught.value.where.node == "out"
    with (
        TopologyTestDriver(lengths(to_batches(gone)).build(), real_sinks=True) as driver,
        pytest.raises(SinkError, match="no table") as refused,
    ):
        driver.pipe(WORDS, "a", "one")
    assert refused.value.where.node == "out"


def test_results_of_failed_record_are_not_written() -> None:
    def half(value: str) -> int:
        if value == "bad":
            raise ValueError(value)
        return len(value)

    builder = TopologyBuilder("halves", on_error="skip")
    words = builder.add_source("words", WORDS)
    every: RecordingSink[str, str] = RecordingSink()
    builder.add_sink("all", every, words)
    checked = builder.add_processor("half", map_values(half), words)
    builder.add_sink("out", Topic("out", key=TEXT, value=INT64), checked)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe_batch(WORDS, [Record("a", "one"), Record("b", "bad"), Record("c", "two")])
        assert [record.value for record in driver.results(every)] == ["one", "two"]


def test_add_sink_rejects_target_that_is_not_a_sink() -> None:
    builder = TopologyBuilder("x")
    words = builder.add_source("words", WORDS)
    with pytest.raises(TopologyError, match="add_sink: target is"):
        builder.add_sink("out", "postgresql://u:p@h/d", words)  # type: ignore[call-overload]  # invalid on purpose


def test_pictures_and_descriptions_show_label_and_guarantee() -> None:
    topology = lengths(RecordingSink()).build()
    assert "Sink: out (sink: recording, exactly-once)" in topology.describe()
    assert "recording" in topology.to_mermaid()
    assert "recording" in topology.to_dot()
