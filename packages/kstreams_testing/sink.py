"""The test suite for sinks."""
# ruff: noqa: D102  # a test's name states its claim

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from unittest import SkipTest
from uuid import uuid4

import pyarrow as pa

from kstreams.errors import RecordRefusedError
from kstreams.record import Record
from kstreams.sink import CommitId, RefusedRow, Sink, Writer
from kstreams.task.output.results import SinkInput

__all__ = ("GivenResults", "SinkContract")


class _Killed(BaseException):
    """Simulates that the process is killed."""


@dataclass
class GivenResults:
    """The `Results` of a test: given records, and the recorded rejections.

    Args:
        given: The records.
        fails: Whether `refuse` raises, as with `on_refused="fail"`.
        refused: The rejected rows.
    """

    given: Sequence[Record[Any, Any]]
    fails: bool = False
    refused: list[RefusedRow] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.given)

    def records(self) -> Sequence[Record[Any, Any]]:
        """Return the records."""
        return self.given

    def columns(self) -> pa.Table:
        """Return the records as an Arrow table."""
        return SinkInput([list(self.given)]).columns()

    def refuse(self, row: RefusedRow) -> None:
        """Record a rejected row, or raise `RecordRefusedError` if `fails` is set."""
        if self.fails:
            raise RecordRefusedError(row.reason, row.code)
        self.refused.append(row)


class SinkContract:
    """Derive a test class that implements `make` and `seen`; pytest finds the tests.

    If the sink keeps one result per key (`keeps_last`), the last result of each key must be
    visible; if it appends, all results.

    Example:
        class TestMine(SinkContract):
            def make(self) -> Sink[str, int]:
                return MyTable("totals")

            def seen(self) -> list[tuple[str, int]]:
                return list(read_rows("totals"))

    Attributes:
        keeps_last: Whether the destination keeps only the last value of each key.
        bad: A record that the destination rejects; None if it accepts all records.
    """

    keeps_last = True
    bad: Record[str, int] | None = None

    def make(self) -> Sink[str, int]:
        """Create the sink. A test calls this several times, for a destination that only it uses."""
        raise NotImplementedError("override make() to create the sink")

    def seen(self) -> Iterable[tuple[str, int]]:
        """Return the visible results in the destination: keys and values."""
        raise NotImplementedError("override seen() to return the results in the destination")

    def test_results_are_visible_after_publish(self) -> None:
        epoch = uuid4().hex
        self._commit(CommitId(epoch, "sink", 0, 1), [("a", 1), ("b", 2)])
        self._expect([("a", 1), ("b", 2)])

    def test_commit_written_and_published_twice_is_visible_once(self) -> None:
        epoch = uuid4().hex
        commit = CommitId(epoch, "sink", 0, 1)
        sink = self._sink()
        writer = sink.open()
        rows = _results([("a", 1), ("b", 2)])
        receipts = writer.write(rows, commit)
        again = writer.write(rows, commit)
        self._publish(sink, {commit: again})
        self._publish(sink, {commit: receipts})
        writer.close()
        self._expect([("a", 1), ("b", 2)])

    def test_write_of_older_commit_after_newer_one_changes_no_result(self) -> None:
        epoch = uuid4().hex
        old, new = CommitId(epoch, "sink", 0, 1), CommitId(epoch, "sink", 0, 2)
        self._commit(old, [("a", 1)])
        self._commit(new, [("a", 2)])
        late = self._sink().open()
        late.write(_results([("a", 1)]), old)  # its driver is fenced: nothing is published
        late.close()
        self._expect([("a", 1), ("a", 2)])

    def test_commits_of_other_tasks_and_sinks_are_independent(self) -> None:
        epoch = uuid4().hex
        self._commit(CommitId(epoch, "sink", 0, 5), [("a", 1)])
        self._commit(CommitId(epoch, "sink", 1, 1), [("b", 2)])
        self._commit(CommitId(epoch, "other", 0, 1), [("c", 3)])
        self._expect([("a", 1), ("b", 2), ("c", 3)])

    def test_commit_of_new_epoch_is_written_despite_lower_batch_number(self) -> None:
        epoch = uuid4().hex
        self._commit(CommitId(epoch, "sink", 0, 5), [("a", 1)])
        self._commit(CommitId(f"{epoch}2", "sink", 0, 0), [("b", 2)])
        self._expect([("a", 1), ("b", 2)])

    def test_write_killed_before_its_end_leaves_no_visible_result(self) -> None:
        epoch = uuid4().hex
        commit = CommitId(epoch, "sink", 0, 1)
        writer = self._sink().open()
        with suppress(_Killed):
            writer.write(_Dying(_records([("a", 1), ("b", 2)])), commit)
            raise AssertionError("write() returned without reading its results")
        writer.close()
        assert list(self.seen()) == []
        self._commit(commit, [("a", 1), ("b", 2)])
        self._expect([("a", 1), ("b", 2)])

    def test_commit_repeated_after_kill_between_write_and_publish_is_visible_once(self) -> None:
        epoch = uuid4().hex
        commit = CommitId(epoch, "sink", 0, 1)
        self._write(commit, [("a", 1), ("b", 2)])
        self._commit(commit, [("a", 1), ("b", 2)])
        self._expect([("a", 1), ("b", 2)])

    def test_publish_repeated_after_kill_makes_each_commit_visible_once(self) -> None:
        epoch = uuid4().hex
        first, second = CommitId(epoch, "sink", 0, 1), CommitId(epoch, "sink", 1, 1)
        receipts = {
            first: self._write(first, [("a", 1)]),
            second: self._write(second, [("b", 2)]),
        }
        self._publish(self._sink(), {first: receipts[first]})
        self._publish(self._sink(), receipts)
        self._publish(self._sink(), receipts)
        self._expect([("a", 1), ("b", 2)])

    def test_writer_can_be_reused_for_consecutive_batches(self) -> None:
        epoch = uuid4().hex
        sink = self._sink()
        writer = sink.open()
        for batch in range(3):
            commit = CommitId(epoch, "sink", 0, batch)
            self._publish(sink, {commit: writer.write(_results([("a", batch)]), commit)})
        writer.close()
        self._expect([("a", 0), ("a", 1), ("a", 2)])

    def test_refused_row_affects_no_other_row_and_is_refused_at_retry(self) -> None:
        epoch = uuid4().hex
        commit = CommitId(epoch, "sink", 0, 1)
        first, again = (_results([("a", 1), ("b", 2)], self._bad()) for _ in range(2))
        self._write(commit, first)
        self._publish(self._sink(), {commit: self._write(commit, again)})
        assert first.refused == again.refused
        assert [row.row for row in first.refused] == [2]
        self._expect([("a", 1), ("b", 2)])

    def test_refused_row_that_fails_batch_leaves_no_visible_result(self) -> None:
        epoch = uuid4().hex
        commit = CommitId(epoch, "sink", 0, 1)
        results = _results([("a", 1)], self._bad())
        results.fails = True
        with suppress(RecordRefusedError):
            self._write(commit, results)
            raise AssertionError("write() must not catch the exceptions of refuse()")
        assert list(self.seen()) == []

    def test_pickled_sink_has_same_label_and_guarantee(self) -> None:
        sink = self._sink()
        again = pickle.loads(pickle.dumps(sink))  # noqa: S301  # our own
        assert (again.label, again.guarantee) == (sink.label, sink.guarantee)

    def _bad(self) -> Record[str, int]:
        if self.bad is None:
            raise SkipTest("the destination accepts all records: `bad` is None")
        return self.bad

    def _sink(self) -> Sink[str, int]:
        sink = self.make()
        sink.prepare()
        return sink

    def _write(
        self, commit: CommitId, rows: GivenResults | Sequence[tuple[str, int]]
    ) -> Sequence[str]:
        writer: Writer[str, int] = self._sink().open()
        try:
            given = rows if isinstance(rows, GivenResults) else _results(rows)
            return writer.write(given, commit)
        finally:
            writer.close()

    def _publish(self, sink: Sink[str, int], receipts: dict[CommitId, Sequence[str]]) -> None:
        found = {commit: names for commit, names in receipts.items() if names}
        if found:
            sink.publish(found)

    def _commit(self, commit: CommitId, rows: Sequence[tuple[str, int]]) -> None:
        self._publish(self._sink(), {commit: self._write(commit, rows)})

    def _expect(self, pairs: Sequence[tuple[str, int]]) -> None:
        expected = list(dict(pairs).items()) if self.keeps_last else list(pairs)
        assert sorted(self.seen()) == sorted(expected)


class _Dying(GivenResults):
    """Results that simulate a kill of the process when they are read."""

    def records(self) -> Sequence[Record[Any, Any]]:
        """Simulate a kill of the process."""
        raise _Killed

    def columns(self) -> pa.Table:
        """Simulate a kill of the process."""
        raise _Killed


def _records(pairs: Sequence[tuple[str, int]]) -> list[Record[str, int]]:
    return [Record(key, value, 1_000 + number) for number, (key, value) in enumerate(pairs)]


def _results(pairs: Sequence[tuple[str, int]], *others: Record[str, int]) -> GivenResults:
    return GivenResults([*_records(pairs), *others])
