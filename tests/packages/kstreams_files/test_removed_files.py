"""Removal of a folder's files after they were read."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from kstreams import TEXT
from kstreams.errors import CompileError, SourceError
from kstreams.sources import FileInfo, FileLog, Lines, MoveTo, WhenRead, folder
from kstreams.state import Directory
from tests.support.files.finished_files_contract import FinishingContract


class TestFolder(FinishingContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.place = tmp_path
        self.times = count(1)

    def make(self, when_read: WhenRead) -> FileLog[None, str]:
        form = Lines(TEXT, max_record_bytes=50)
        return folder("lines", self.place, form, recursive=True, when_read=when_read)

    def put(self, name: str, text: str) -> None:
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        time = next(self.times)
        os.utime(path, (time, time))

    def found(self) -> dict[str, str]:
        files = {str(p.relative_to(self.place)): p for p in self.place.rglob("*") if p.is_file()}
        return {name: p.read_text() for name, p in files.items() if not name.startswith(".")}

    def test_interrupted_move_is_completed(self) -> None:
        """The file had both names."""
        self.put("a", "1\n")
        (self.place / "_done").mkdir()
        with self.contents(MoveTo("_done")) as contents:
            contents.ends()
            os.link(self.place / "a", self.place / "_done" / "a")
            contents.committed({0: 1})
        assert self.found() == {"_done/a": "1\n"}

    def test_removal_of_read_files_from_read_only_folder_raises_error(self) -> None:
        self.put("a", "1\n")
        (self.place / "_done").write_text("a file")
        with self.contents(MoveTo("_done")) as contents:
            contents.ends()
            with pytest.raises(SourceError, match=r"cannot move .*/a, "):
                contents.committed({0: 1})

    def test_files_outside_of_source_folder_are_not_removed(self) -> None:
        outside = self.place.parent / f"{self.place.name}-outside"
        outside.write_text("1\n")
        known = outside.stat()
        version = f"{known.st_mtime_ns}-{known.st_size}"
        log = self.make("delete")
        for name in (f"../{outside.name}", str(outside)):
            log.files.take_away(FileInfo(name, version, 2, 0), "")  # type: ignore[attr-defined]
        assert outside.exists()


@pytest.mark.parametrize("to", ["", "done", "../x", "/x", "_done/../..", "_a//b", "a/_done"])
def test_move_target_inside_source_folder_is_refused(to: str) -> None:
    with pytest.raises(ValueError, match="MoveTo"):
        MoveTo(to)


def test_option_that_removes_read_files_is_refused_for_place_without_removal(
    tmp_path: Path,
) -> None:
    index = Directory(str(tmp_path))
    with pytest.raises(CompileError, match="cannot be deleted or moved"):
        FileLog("lines", Bare(), Lines(TEXT), index=index, when_read="delete")  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="when_read is 'remove'"):
        folder("lines", tmp_path, Lines(TEXT), when_read="remove")  # type: ignore[arg-type]


class Bare:
    """A read-only place."""

    label = "bare"
