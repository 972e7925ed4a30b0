"""The files of a folder that are read, and errors for files that change or are unreadable."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kstreams import TEXT, Topic, TopologyBuilder
from kstreams.errors import (
    CompileError,
    DataLossError,
    DeserializationError,
    FileChangedError,
    KStreamsError,
    SourceError,
    StateCorruptError,
    TopologyError,
)
from kstreams.operators import map_
from kstreams.serde import NONE
from kstreams.sources import Csv, FileInfo, FileLog, Format, Gzip, Lines, Log, Piece, Whole, folder
from kstreams.state import Directory
from kstreams.testing import TopologyTestDriver
from kstreams.topology import DeadLetter, OnError
from kstreams_files.entry import Place

OUT = Topic("out", key=NONE, value=TEXT)
LETTERS = Topic("letters", key=NONE, value=TEXT, nulls="pass")


@dataclass(frozen=True)
class Order:
    """A row."""

    item: str
    count: int = 7
    note: str | None = None


def shown(_: object, value: object) -> tuple[None, str]:
    return None, str(value)


def driver_of(log: Log[Any, Any], on_error: OnError = "fail") -> TopologyTestDriver:
    builder = TopologyBuilder("files")
    read = builder.add_source("read", log, on_error=on_error)
    builder.add_sink("out", OUT, builder.add_processor("shown", map_(shown), read))
    return TopologyTestDriver(builder.build(), real_sources=True)


def values_of(log: Log[Any, Any], on_error: OnError = "fail") -> tuple[list[str], dict[str, int]]:
    with driver_of(log, on_error) as driver:
        driver.run()
        return [record.value for record in driver.read(OUT)], driver.dropped


def write(place: Path, **files: str | bytes) -> None:
    for name, data in files.items():
        path = place / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def lines(place: Path, **options: Any) -> FileLog[None, str]:
    return folder("lines", place, Lines(TEXT), **options)


# ---------------------------------------------------------------- the files that are read


def test_folder_log_leaves_out_hidden_unfinished_and_outside_files(tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    names = (".hidden", "_SUCCESS", "a.part", "a.tmp", "a~", "a.log", "yes.txt")
    for name in names:
        (place / name).write_text(name)
    (place / "below").mkdir()
    (place / "below" / "deep.txt").write_text("deep")
    (place / "_temporary").mkdir()
    (place / "_temporary" / "half.txt").write_text("half")
    (tmp_path / "secret.txt").write_text("secret")
    (place / "out.txt").symlink_to(tmp_path / "secret.txt")
    (place / "up.txt").symlink_to(place / ".." / "secret.txt")
    (place / "nowhere.txt").symlink_to(place / "none")
    (place / "round").symlink_to(place)
    (place / "in.txt").symlink_to(place / "yes.txt")
    os.mkfifo(place / "pipe.txt")
    assert values_of(lines(place, pattern="*.txt"))[0] == ["yes.txt", "yes.txt"]
    found, _ = values_of(folder("deep", place, Lines(TEXT), pattern="*.txt", recursive=True))
    assert sorted(found) == ["deep", "yes.txt", "yes.txt"]


def test_folder_log_reads_files_in_order_of_modification_and_new_files_last(tmp_path: Path) -> None:
    for name, time in (("c", 1), ("b", 3), ("a", 2)):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (time, time))
    with driver_of(lines(tmp_path)) as driver:
        driver.run()
        assert [(r.value, r.timestamp) for r in driver.read(OUT)] == [
            ("c", 1_000),
            ("a", 2_000),
            ("b", 3_000),
        ]
        (tmp_path / "0").write_text("late")
        os.utime(tmp_path / "0", (0, 0))
        driver.run()
        assert [record.value for record in driver.read(OUT)] == ["late"]


def test_file_younger_than_min_age_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, old="old", young="young")
    os.utime(tmp_path / "old", (1, 1))
    assert values_of(lines(tmp_path, min_age=timedelta(hours=1)))[0] == ["old"]


def test_files_are_assigned_to_the_partition_with_the_fewest_records(tmp_path: Path) -> None:
    for number, text in enumerate(("a\nb\nc\n", "d\n", "e\n", "f\n", "g\n")):
        (tmp_path / f"{number}").write_text(text)
        os.utime(tmp_path / f"{number}", (number, number))
    with closing(lines(tmp_path, partitions=2).contents()) as contents:
        assert contents.ends() == {0: 4, 1: 3}


def test_test_driver_replaces_a_log_unless_real_sources_are_requested(tmp_path: Path) -> None:
    log = lines(tmp_path / "none")
    builder = TopologyBuilder("files")
    builder.add_sink("out", OUT, builder.add_source("read", log))
    with TopologyTestDriver(builder.build(), partitions={"lines": 2}) as driver:
        driver.pipe(log, None, "made up", partition=1)
        assert [record.value for record in driver.read(OUT)] == ["made up"]
    (tmp_path / "none").mkdir()
    with (
        TopologyTestDriver(builder.build(), real_sources=True) as driver,
        pytest.raises(TopologyError, match="real_sources=True"),
    ):
        driver.pipe(log, None, "made up")


# ---------------------------------------------------------------- files that change


def changed(log: FileLog[Any, Any], how: Any) -> KStreamsError:
    """Return the error of a read when a file changes after it was planned."""
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        ends = contents.ends()
        pieces = list(contents.pieces(0, 0, ends[0]))
        how()
        with pytest.raises(DataLossError) as reading:
            reader.read(pieces[0], max_bytes=1 << 30)
        return reading.value


def test_file_that_changes_after_it_was_planned_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one\ntwo\n")
    error = changed(lines(tmp_path), lambda: file.write_text("one\ntwo\nthree\n"))
    assert isinstance(error, FileChangedError)
    assert str(file) in str(error)
    with pytest.raises(FileChangedError, match="'a'"):
        values_of(lines(tmp_path))


def test_removal_of_unread_file_raises_error_and_of_read_file_does_not(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one\n")
    error = changed(lines(tmp_path), file.unlink)
    assert isinstance(error, FileChangedError)
    assert "was removed before" in error.message
    (tmp_path / "b").write_text("two\n")
    with closing(lines(tmp_path).contents()) as contents:
        assert contents.beginnings() == {0: 1}
        assert contents.ends() == {0: 2}


def test_change_is_detected_while_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one\ntwo\n")
    log = lines(tmp_path)
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (first,) = contents.pieces(0, 0, 1)
        (second,) = contents.pieces(0, 1, 2)
        assert reader.read(first, max_bytes=1 << 30).num_rows == 1
        with file.open("r+") as same:
            same.write("ONE\nTWO\n!")
        with pytest.raises(FileChangedError, match="has changed since"):
            reader.read(second, max_bytes=1 << 30)


# ---------------------------------------------------------------- unreadable files


BOMB = gzip.compress(b"0" * (64 << 20), mtime=0)

BAD_FILES = (
    (Gzip(Lines(TEXT)), gzip.compress(b"one\n" * 1_000, mtime=0)[:-9], "ends early"),
    (Gzip(Lines(TEXT)), b"one\ntwo\n", "not a complete gzip file"),
    (Gzip(Lines(TEXT)), b"", "is empty"),
    (Gzip(Lines(TEXT, max_record_bytes=1 << 30)), BOMB, "become more than"),
    (Gzip(Whole(TEXT)), BOMB, "become more than"),
    (Whole(TEXT, max_bytes=10), b"x" * 11, "more than 10 bytes"),
    (Lines(TEXT, max_record_bytes=10), b"short\n" + b"x" * 11 + b"\nshort\n", "record 2 has more"),
    (Lines(TEXT, max_record_bytes=10), b"x" * 11, "record 1 has more"),
    (Lines(TEXT), "text".encode("utf-16"), "UTF-16"),
    (Csv(Order), b"itm,count\nx,1\n", "did you mean 'itm'"),
    (Csv(Order), b"item,item\nx,1\n", "twice"),
    (Csv(Order), b'item\n"never ends\n', "a quote that is not closed"),
    (Csv(Order), b"item" + b"m" * 70_000, "first row has more than"),
    (Csv(Order), b"\xe9\n", "not UTF-8"),
)


@pytest.mark.parametrize(
    ("form", "data", "why"), BAD_FILES, ids=[f"{n} {case[2]}" for n, case in enumerate(BAD_FILES)]
)
def test_unreadable_file_counts_as_one_bad_record(
    form: Format[Any, Any], data: bytes, why: str, tmp_path: Path
) -> None:
    write(tmp_path, bad=data)
    log: FileLog[Any, Any] = folder("files", tmp_path, form)
    with driver_of(log) as driver, pytest.raises(DeserializationError, match=why) as failed:
        driver.run()
    where = failed.value.where
    assert (where.topic, where.file, where.record) == ("files", "bad", 1)
    assert values_of(log, "skip") == ([], {"skipped-DeserializationError": 1})


def test_dead_letter_names_file_and_record(tmp_path: Path) -> None:
    write(tmp_path, a=b"fine\n\xff\nfine\n")
    with driver_of(lines(tmp_path), DeadLetter("letters")) as driver:
        driver.run()
        assert [record.value for record in driver.read(OUT)] == ["fine", "fine"]
        (letter,) = driver.read_rows("letters")
        said = dict(letter.headers)
        assert letter.value == b"\xff"
        assert said["kstreams-error-file"] == b"a"
        assert said["kstreams-error-record"] == b"2"
        assert said["kstreams-error-topic"] == b"lines"


def test_error_of_a_processor_names_file_and_record(tmp_path: Path) -> None:
    def fail(_: object, value: str) -> tuple[None, str]:
        raise ValueError(value)

    write(tmp_path, a="one\n")
    builder = TopologyBuilder("files")
    read = builder.add_source("read", lines(tmp_path))
    builder.add_sink("out", OUT, builder.add_processor("fail", map_(fail), read))
    with (
        TopologyTestDriver(builder.build(), real_sources=True) as driver,
        pytest.raises(KStreamsError, match="file 'a', record 1"),
    ):
        driver.run()


# ---------------------------------------------------------------- formats


def test_lines_may_have_any_line_end(tmp_path: Path) -> None:
    write(tmp_path, a=b"\xef\xbb\xbfone\r\n\r\ntwo\n\nthree")
    assert values_of(lines(tmp_path))[0] == ["one", "", "two", "", "three"]
    dropping = folder("dropping", tmp_path, Lines(TEXT, blank="drop"))
    assert values_of(dropping) == (["one", "two", "three"], {"null-value": 2})


def test_csv_columns_are_found_by_name(tmp_path: Path) -> None:
    rows = 'more,count,note,"item"\r\nx,1,,"tea, ""green"""\r\n\r\nx,2,"","two\nlines"\r\nx,3\n'
    write(tmp_path, a=rows, b="item,count,note\nplain,4,n\n", c="item\nmilk\n")
    found, dropped = values_of(folder("rows", tmp_path, Csv(Order)), "skip")
    orders = [
        Order('tea, "green"', 1, None),
        Order("two\nlines", 2, ""),
        Order("plain", 4, "n"),
        Order("milk", 7, None),
    ]
    assert found == list(map(str, orders))
    assert dropped == {"null-value": 1, "skipped-DeserializationError": 1}


def test_whole_format_reads_file_as_one_record(tmp_path: Path) -> None:
    write(tmp_path, a="one\ntwo\n", b="")
    builder = TopologyBuilder("files")
    named = Topic("named", key=TEXT, value=TEXT)
    builder.add_sink("out", named, builder.add_source("read", folder("f", tmp_path, Whole(TEXT))))
    with TopologyTestDriver(builder.build(), real_sources=True) as driver:
        driver.run()
        assert driver.read_values(named) == {"a": "one\ntwo\n", "b": ""}


def test_read_near_end_of_large_file_begins_at_nearest_earlier_mark(tmp_path: Path) -> None:
    rows = [f"{number:09}{'x' * 91}" for number in range(120_000)]
    write(tmp_path, a="\n".join(rows))
    log = lines(tmp_path)
    with closing(log.contents()) as contents:
        assert contents.ends() == {0: 120_000}
        (piece,) = contents.pieces(0, 110_000, 110_002)
        assert Place.parse(piece.place).mark.place > 4 << 20
        with closing(log.reader()) as reader:
            table = reader.read(piece, max_bytes=1 << 30)
    assert table.column("value").to_pylist() == [row.encode() for row in rows[110_000:110_002]]


# ---------------------------------------------------------------- errors


def test_error_of_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no folder"):
        values_of(lines(tmp_path / "none", index=Directory(str(tmp_path / "index"))))


def test_file_index_of_another_log_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a="one\n")
    values_of(lines(tmp_path))
    for other in (
        lines(tmp_path, partitions=2),
        folder("lines", tmp_path, Whole(TEXT)),
    ):
        with pytest.raises(SourceError, match=r"the index in .* has"):
            other.contents()


@pytest.mark.parametrize("harm", ["cut", "changed", "moved", "gone"])
def test_damaged_file_index_is_refused(harm: str, tmp_path: Path) -> None:
    log = lines(tmp_path)
    for name in "abc":
        write(tmp_path, **{name: name})
        with closing(log.contents()) as contents:
            contents.ends()
    files = tmp_path / ".kstreams-lines" / "files"
    first, second, _ = sorted(files.iterdir())
    match harm:
        case "cut":
            first.write_bytes(first.read_bytes()[:-10])
        case "changed":
            said = json.loads(first.read_bytes())
            said["files"][0][1][2] = 5
            first.write_text(json.dumps(said))
        case "moved":
            second.write_bytes(first.read_bytes())
        case _:
            second.unlink()
    with pytest.raises((StateCorruptError, SourceError)):
        log.contents()


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../secret", ""])
def test_forged_plan_opens_no_file_outside_of_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path, secret="secret", in__a="one\n")
    log = lines(tmp_path / "in")
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        contents.ends()
        (piece,) = contents.pieces(0, 0, 1)
        said = json.loads(piece.place)
        said[0][0] = name
        forged = Piece(0, 0, 1, json.dumps(said))
        with pytest.raises((SourceError, DataLossError)):
            reader.read(forged, max_bytes=1 << 30)
        with pytest.raises(StateCorruptError, match="expected a position in a file"):
            reader.read(Piece(0, 0, 1, "[]"), max_bytes=1 << 30)


def test_log_name_must_be_a_topic_name_that_no_topic_has(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot name a log"):
        folder("a/b", tmp_path, Lines(TEXT))
    builder = TopologyBuilder("files")
    builder.add_sink("out", OUT, builder.add_source("in", folder("out", tmp_path, Lines(TEXT))))
    with pytest.raises(TopologyError, match="rename one of them"):
        builder.build()


@pytest.mark.parametrize("name", ["../outside", "below/../../outside", "linked/outside", "link"])
def test_open_refuses_names_outside_of_folder(tmp_path: Path, name: str) -> None:
    """The file outside has the size and time in the plan."""
    outside = tmp_path / "outside"
    outside.write_text("secret\n")
    place = tmp_path / "in"
    (place / "below").mkdir(parents=True)
    (place / "linked").symlink_to(tmp_path)
    (place / "link").symlink_to(outside)
    known = outside.stat()
    file = FileInfo(name, f"{known.st_mtime_ns}-{known.st_size}", known.st_size, 0)
    with pytest.raises(SourceError, match="is outside of the folder"):
        lines(place).files.open(file)


def test_missing_source_folder_is_not_created_by_its_index(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no folder"):
        values_of(folder("lines", tmp_path / "none" / "deep", Lines(TEXT)))
    assert list(tmp_path.iterdir()) == []
