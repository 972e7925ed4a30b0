"""The contract of places that remove files after they were read, as a base class of tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kstreams.errors import SourceError
from kstreams.sources import FileLog, MoveTo, WhenRead
from kstreams_files.contents import FileContents

__all__ = ("FinishingContract",)

DONE = MoveTo("_done")
ALL = {0: 100}


class FinishingContract:
    """Files that were read are removed only after the commit, once, whatever is killed."""

    def make(self, when_read: WhenRead) -> FileLog[None, str]:
        """Return the log, with one partition, whose records are lines; subdirectories count."""
        raise NotImplementedError

    def put(self, name: str, text: str) -> None:
        """Write a file; a later one is younger, also if it replaces another."""
        raise NotImplementedError

    def found(self) -> dict[str, str]:
        """Return all files except the index, with their texts."""
        raise NotImplementedError

    @contextmanager
    def contents(self, when_read: WhenRead) -> Iterator[FileContents]:
        with closing(self.make(when_read).contents()) as opened:
            assert isinstance(opened, FileContents)
            yield opened

    @pytest.mark.parametrize("when_read", ["delete", DONE], ids=["delete", "move"])
    def test_files_are_removed_when_all_of_their_records_are_committed(
        self, when_read: WhenRead
    ) -> None:
        files = {"a": "1\n2\n", "below/b": "3\n4\n", "c": "5\n"}
        for name, text in files.items():
            self.put(name, text)
        with self.contents(when_read) as contents:
            assert contents.ends() == {0: 5}
            for positions in ({}, {0: 0}, {0: 1}):
                contents.committed(positions)
                assert self.found() == files
            contents.committed({0: 3})
            left = {name: files[name] for name in ("below/b", "c")}
            moved = {} if when_read == "delete" else {"_done/a": files["a"]}
            assert self.found() == left | moved
            contents.committed({0: 3})
            assert contents.ends() == {0: 5}
            assert contents.beginnings() == {0: 2}
        with self.contents(when_read) as contents:  # files left by a death are removed at the start
            contents.committed({0: 5})
            contents.committed({0: 4})  # late
            done = {} if when_read == "delete" else {f"_done/{n}": t for n, t in files.items()}
            assert self.found() == done
            assert contents.beginnings() == contents.ends() == {0: 5}

    def test_read_files_are_kept_by_default(self) -> None:
        self.put("a", "1\n")
        with self.contents("leave") as contents:
            contents.ends()
            contents.committed(ALL)
        assert self.found() == {"a": "1\n"}

    def test_unreadable_file_is_not_removed(self) -> None:
        self.put("a", "x" * 60 + "\n")
        self.put("b", "1\n")
        with self.contents("delete") as contents:
            assert contents.ends() == {0: 2}
            contents.committed(ALL)
        assert set(self.found()) == {"a"}

    @pytest.mark.parametrize("when_read", ["delete", DONE], ids=["delete", "move"])
    def test_file_overwritten_after_it_was_read_is_not_removed(self, when_read: WhenRead) -> None:
        self.put("a", "1\n")
        with self.contents(when_read) as contents:
            contents.ends()
            self.put("a", "other\n")
            contents.committed(ALL)
        assert self.found() == {"a": "other\n"}

    @pytest.mark.parametrize("when_read", ["delete", DONE], ids=["delete", "move"])
    def test_missing_file_is_ignored(self, when_read: WhenRead) -> None:
        self.put("a", "1\n")
        with self.contents(when_read) as contents, self.contents(when_read) as other:
            contents.ends()
            other.ends()
            contents.committed(ALL)
            before = self.found()
            other.committed(ALL)
        assert self.found() == before

    def test_existing_file_at_move_target_is_not_overwritten(self) -> None:
        self.put("a", "1\n")
        self.put("_done/a", "of before\n")
        with self.contents(DONE) as contents:
            contents.ends()
            with pytest.raises(SourceError, match="was read, but cannot be moved to"):
                contents.committed(ALL)
        assert self.found() == {"a": "1\n", "_done/a": "of before\n"}
