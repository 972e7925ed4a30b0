"""The test suite for lake tables, in addition to that for sinks: versions and leftover files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams.testing import SinkContract
from kstreams_rows.publishing import TableLog
from tests.support.sinks.sink_writes import commit_of, given

__all__ = ("LakeContract", "Line", "Total")


@dataclass(frozen=True)
class Total:
    """A row of the tables."""

    word: str
    total: int


@dataclass(frozen=True)
class Line:
    """A part of a row."""

    item: str
    count: int | None


class LakeContract(SinkContract):
    """The test suite for sinks with tests of a table's versions and leftover files.

    Attributes:
        folder: Folder of the table on this machine.
        log: The class whose `append` creates a version.
        lost: The error of `append` when its reply is lost.
    """

    keeps_last = False
    bad = Record("a", 1 << 70, 5)
    log: type[TableLog[Any]]
    lost: Exception

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path / "table"
        self.patch = monkeypatch

    def others_append(self) -> None:
        """Append ("other", 0) as another client."""
        raise NotImplementedError

    def staged(self, commit: CommitId, *pairs: tuple[str, int]) -> Mapping[CommitId, Sequence[str]]:
        """Stage results by a new writer."""
        sink = self.make()
        sink.prepare()
        with closing(sink.open()) as writer:
            return {commit: writer.write(given(*pairs), commit)}

    def before_append(self, work: Callable[[], object]) -> None:
        """Call a function once, between the read of the table and its next version."""
        real, left = self.log.append, [work]

        def append(log: Any, *given: Any) -> None:
            if left:
                left.pop()()
            real(log, *given)

        self.patch.setattr(self.log, "append", append)

    def files(self) -> list[str]:
        """Return the names of data files and manifests."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        names = [str(path.relative_to(self.folder)) for path in found]
        return sorted(name for name in names if name.endswith(".parquet") or "_kstreams" in name)

    def test_late_publication_of_an_older_batch_changes_nothing(self) -> None:
        late = self.make()
        first = self.staged(commit_of(0), ("a", 1))
        late.publish(first)
        second = self.staged(commit_of(1), ("b", 2))
        self.make().publish(second)
        late.publish(first)
        late.publish(second)
        assert sorted(self.seen()) == [("a", 1), ("b", 2)]

    def test_batch_published_by_two_drivers_concurrently_is_visible_once(self) -> None:
        receipts = self.staged(commit_of(0), ("a", 1))
        self.before_append(lambda: self.make().publish(receipts))
        self.make().publish(receipts)
        assert list(self.seen()) == [("a", 1)]

    def test_delayed_publication_is_refused_after_later_batches(
        self,
    ) -> None:
        old = self.staged(commit_of(0), ("a", 1))

        def go_on() -> None:
            self.make().publish(old)
            self.make().publish(self.staged(commit_of(1), ("b", 2)))

        self.before_append(go_on)
        self.make().publish(old)
        assert sorted(self.seen()) == [("a", 1), ("b", 2)]

    def test_retry_after_lost_reply_finds_commit_in_the_table(self) -> None:
        receipts = self.staged(commit_of(0), ("a", 1))
        real, left = self.log.append, [self.lost]

        def append(log: Any, *given: Any) -> None:
            real(log, *given)
            if left:
                raise left.pop()

        self.patch.setattr(self.log, "append", append)
        self.make().publish(receipts)
        assert list(self.seen()) == [("a", 1)]

    def test_other_clients_may_write_to_the_table_at_any_time(self) -> None:
        sink = self.make()
        sink.publish(self.staged(commit_of(0), ("a", 1)))
        self.others_append()
        receipts = self.staged(commit_of(1), ("b", 2))
        self.before_append(self.others_append)
        sink.publish(receipts)
        assert sorted(self.seen()) == [("a", 1), ("b", 2), ("other", 0), ("other", 0)]

    def test_uncommitted_files_are_removed_by_a_new_writer(self) -> None:
        self.staged(commit_of(0), ("dead", 0))
        self.staged(commit_of(1), ("dead", 1))
        other = self.staged(commit_of(0, task=1), ("c", 3))
        counts = self.staged(commit_of(1), ("a", 1))
        self.make().publish(counts)
        assert len(self.files()) == 5  # the first file was removed by the next writer
        self.make().publish(self.staged(commit_of(2), ("b", 2)))
        self.make().publish(other)
        assert sorted(self.seen()) == [("a", 1), ("b", 2), ("c", 3)]
        assert [name for name in self.files() if "_kstreams" in name] == []
        assert len(self.files()) == 3

    def test_files_of_uncommitted_first_batch_are_removed_by_second_batch(self) -> None:
        self.staged(commit_of(1), ("dead", 1))
        sink = self.make()
        with closing(sink.open()) as writer:
            for batch in (1, 2):
                results = given(("a", batch))
                sink.publish({commit_of(batch): writer.write(results, commit_of(batch))})
        assert len(self.files()) == 2
        assert sorted(self.seen()) == [("a", 1), ("a", 2)]

    def test_publishing_a_removed_staged_file_raises_error(self) -> None:
        receipts = self.staged(commit_of(0), ("a", 1))
        (file,) = (name for name in self.files() if name.endswith(".parquet"))
        (self.folder / file).unlink()
        with pytest.raises(SinkError, match="is missing"):
            self.make().publish(receipts)
        assert list(self.seen()) == []

    @pytest.mark.parametrize(
        ("receipt", "text"),
        [
            ("", "where a list of staged files was expected"),
            ("[]", "where a list of staged files was expected"),
            ("{}", "where a list of staged files was expected"),
            ('["a", 5]', "where a list of staged files was expected"),
            ('["a", "{}"]', "a file of a committed batch is missing: a"),
        ],
    )
    def test_receipt_of_another_sink_is_refused(self, receipt: str, text: str) -> None:
        sink = self.make()
        sink.prepare()
        with pytest.raises(SinkError, match=text):
            sink.publish({commit_of(): [receipt]})
        assert list(self.seen()) == []
