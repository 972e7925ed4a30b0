"""The files of an SFTP server that are read, and errors for files that change or lie elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from paramiko import SFTPAttributes

from kstreams import TEXT
from kstreams.errors import DataLossError, FileChangedError, SourceError
from kstreams.sources import FileInfo, FileLog, Gzip, Lines, WhenRead
from kstreams.state import Directory
from kstreams_files import steady
from kstreams_sftp import SftpError, sftp_folder
from tests.connectors.kstreams_sftp.conftest import Folder
from tests.support.files.finished_files_contract import FinishingContract

pytestmark = pytest.mark.slow


@pytest.fixture
def index(tmp_path: Path) -> Directory:
    return Directory(str(tmp_path / "index"))


def lines(folder: Folder, index: Directory, **options: Any) -> FileLog[None, str]:
    given = {"steady_for": timedelta(0), **options}
    return sftp_folder("lines", folder.place(), Lines(TEXT), index=index, **given)


def values(log: FileLog[None, str]) -> list[str]:
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        pieces = contents.pieces(0, 0, contents.ends()[0])
        tables = [reader.read(piece, max_bytes=1 << 30) for piece in pieces]
        return [value.decode() for table in tables for value in table["value"].to_pylist()]


def test_hidden_unfinished_and_linked_files_are_left_out(
    folder: Folder, index: Directory, tmp_path: Path
) -> None:
    for name in (".hidden", "_SUCCESS", "a.tmp", "a~", "a.log", "yes.txt", "below/deep.txt"):
        folder.put(name, name)
    (folder.path / "half.txt.part").write_text("half")
    folder.put("_temporary/x.txt", "x")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (folder.path / "out.txt").symlink_to(secret)
    (folder.path / "in.txt").symlink_to("yes.txt")
    (folder.path / "round").symlink_to(folder.path)
    os.mkfifo(folder.path / "pipe.txt")
    assert values(lines(folder, index, pattern="*.txt")) == ["yes.txt"]
    deep = lines(folder, Directory(f"{index.path}2"), pattern="*.txt", recursive=True)
    assert sorted(values(deep)) == ["below/deep.txt", "yes.txt"]


def test_file_names_may_have_any_bytes(folder: Folder, index: Directory) -> None:
    """A name that is no UTF-8 does not affect others, and its file is read."""
    os.close(os.open(os.fsencode(folder.path) + b"/caf\xe9", os.O_CREAT | os.O_WRONLY))
    with open(os.fsencode(folder.path) + b"/caf\xe9", "wb") as file:  # noqa: PTH123  # bytes
        file.write(b"latin\n")
    folder.put("line\nbreak \x1b[31m", "odd\n")
    folder.put("päth", "plain\n")
    assert sorted(values(lines(folder, index))) == ["latin", "odd", "plain"]


def test_growing_file_is_read_by_later_scan(
    folder: Folder, index: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload continues during the first scan; the next app finds the file complete."""
    growing = folder.path / "growing"
    growing.write_text("one\n")
    folder.put("whole", "two\n")
    log = lines(folder, index, steady_for=timedelta(seconds=0.05))
    with monkeypatch.context() as patch, closing(log.contents()) as contents:

        def go_on(seconds: float) -> None:
            growing.write_text("one\nmore\n")
            sleep(seconds)

        patch.setattr(steady, "sleep", go_on)
        assert contents.ends() == {0: 1}
    assert sorted(values(log)) == ["more", "one", "two"]


CHANGES: dict[str, Callable[[Folder], object]] = {
    "gone": lambda folder: (folder.path / "a").unlink(),
    "longer": lambda folder: folder.put("a", "one\ntwo\nthree\n"),
    "touched": lambda folder: folder.put("a", "ONE\ntwo\n", time=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_file_that_changes_after_it_was_planned_is_an_error(
    folder: Folder, index: Directory, change: str
) -> None:
    folder.put("a", "one\ntwo\n")
    log = lines(folder, index)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (piece,) = contents.pieces(0, 0, 2)
        CHANGES[change](folder)
        with pytest.raises(FileChangedError, match="'a'") as told:
            reader.read(piece, max_bytes=1 << 30)
        assert isinstance(told.value, DataLossError)
        if change != "gone":
            with pytest.raises(FileChangedError, match="'a'"):
                contents.ends()


def test_file_that_changes_while_it_is_read_is_an_error(folder: Folder, index: Directory) -> None:
    path = folder.put("a", "one\ntwo\n")
    log = lines(folder, index)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (first,) = contents.pieces(0, 0, 1)
        (second,) = contents.pieces(0, 1, 2)
        assert reader.read(first, max_bytes=1 << 30).num_rows == 1
        with path.open("r+") as same:
            same.write("ONE\nTWO\n!")
        with pytest.raises(FileChangedError, match="has changed since"):
            reader.read(second, max_bytes=1 << 30)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/../../secret", "", "_index", "a//b"]
)
def test_open_refuses_names_outside_of_folder(folder: Folder, index: Directory, name: str) -> None:
    with pytest.raises(SourceError, match="outside the folder"):
        lines(folder, index).files.open(FileInfo(name, "1-2", 2, 1_000))


def test_link_that_replaces_a_file_is_refused(folder: Folder, index: Directory) -> None:
    """A file or its directory becomes a link to the same bytes after it was listed."""
    folder.put("a", "one\n")
    folder.put("below/a", "one\n")
    folder.put("_elsewhere/a", "one\n")
    log = lines(folder, index, recursive=True)
    found = {file.name: file for file in log.files.list()}
    (folder.path / "a").unlink()
    (folder.path / "a").symlink_to("_elsewhere/a")
    (folder.path / "below" / "a").unlink()
    (folder.path / "below").rmdir()
    (folder.path / "below").symlink_to("_elsewhere")
    for name in ("a", "below/a"):
        with pytest.raises(SourceError, match="is a link, or in a linked"):
            log.files.open(found[name])


def test_large_file_is_read_by_many_requests(folder: Folder, index: Directory) -> None:
    rows = [f"{number:08}{'x' * 92}" for number in range(60_000)]
    folder.put("large", "\n".join(rows))
    assert values(lines(folder, index)) == rows


def test_error_of_missing_folder_names_it(folder: Folder, index: Directory) -> None:
    place = folder.server.settings("none", give_up_after=timedelta(seconds=5))
    log = sftp_folder("lines", place, Gzip(Lines(TEXT)), index=index)
    with pytest.raises(SftpError, match="/none: "), closing(log.contents()) as contents:
        contents.ends()


class TestFinished(FinishingContract):
    @pytest.fixture(autouse=True)
    def _place(self, folder: Folder, tmp_path: Path) -> None:
        self.folder = folder
        self.index = Directory(str(tmp_path))
        self.times = count(1)

    def make(self, when_read: WhenRead) -> FileLog[None, str]:
        return sftp_folder(
            "lines",
            self.folder.place(),
            Lines(TEXT, max_record_bytes=50),
            index=self.index,
            recursive=True,
            steady_for=timedelta(0),
            when_read=when_read,
        )

    def put(self, name: str, text: str) -> None:
        self.folder.put(name, text, time=next(self.times))

    def found(self) -> dict[str, str]:
        files = [path for path in self.folder.path.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder.path)): path.read_text() for path in files}


class ListingServer:
    """A server that lists one file name for every directory."""

    def __init__(self, name: str) -> None:
        self.entry = SFTPAttributes()
        self.entry.filename = name
        self.entry.st_mode = 0o100644

    def listdir_attr(self, *_: object) -> list[SFTPAttributes]:
        return [self.entry]


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "..", ".", "", "a\0b"])
def test_file_names_listed_by_the_server_that_lead_outside_are_refused(
    folder: Folder, index: Directory, name: str
) -> None:
    files: Any = lines(folder, index).files
    with pytest.raises(SourceError, match="leads out of the directory"):
        list(files._below(ListingServer(name), ""))
