"""Small files that are costly or wrong: one bad record each, in bounded memory and time."""

from __future__ import annotations

import gzip
import io
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kstreams import TEXT
from kstreams.sources import Csv, Format, Gzip, Lines, Parquet, Whole, Zip, folder
from tests.hostile.memory_limit import MIB, outcome_of
from tests.hostile.parquet_files import nested, repeating, with_row_count
from tests.packages.kstreams_files.test_folder import values_of


@dataclass(frozen=True)
class Row:
    """A row of two columns, one of which files may leave out."""

    a: str
    b: int = 0


def zipped(method: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def crowded(members: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(members):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")
    return file.getvalue()


def with_large_dictionary() -> bytes:
    """Return an LZMA archive whose header requires 4 GiB of memory."""
    data = bytearray(zipped(zipfile.ZIP_LZMA, a=b"abc\n" * 1000))
    size = data.index(b"a", 30) + 1 + 5
    data[size : size + 4] = b"\xff" * 4
    return bytes(data)


def boasting_directory() -> bytes:
    """Return an archive whose directory claims a size above the limit."""
    data = bytearray(zipped(a=b"x") + b"\0")
    end = data.index(b"PK\x05\x06")
    filler = b"\0" * (80 * MIB)
    data[end + 12 : end + 16] = (len(filler)).to_bytes(4, "little")
    data[end + 16 : end + 20] = (0).to_bytes(4, "little")
    return filler + bytes(data[end:-1])


BOMB = b"0" * (100 * MIB)
BAD: dict[str, tuple[Format[Any, Any], bytes]] = {
    "gzip": (Gzip(Lines(TEXT)), gzip.compress(BOMB)),
    "gzip of a whole file": (Gzip(Whole(TEXT)), gzip.compress(BOMB)),
    "gzip in gzip": (Gzip(Gzip(Lines(TEXT))), gzip.compress(gzip.compress(BOMB))),
    "zip": (Zip(Lines(TEXT)), zipped(a=BOMB)),
    "zip of many members": (Zip(Lines(TEXT), max_members=1000), crowded(30_000)),
    "zip of LZMA": (Zip(Lines(TEXT)), with_large_dictionary()),
    "zip with a large directory": (Zip(Lines(TEXT)), boasting_directory()),
    "parquet of deep groups": (Parquet(Row), nested(50_000)),
    "parquet of many rows": (Parquet(Row), with_row_count(50, 10**12)),
    "parquet of fewer rows than none": (Parquet(Row), with_row_count(50, 2**63 - 1)),
    "a line": (Lines(TEXT), b"x" * (40 * MIB)),
    "a row of CSV": (Csv(Row), b"a,b\n" + b"x," * (20 * MIB)),
    "a quote": (Csv(Row), b'a,b\n"' + b",\n" * (20 * MIB)),
    "a header of CSV": (Csv(Row), b"," * (40 * MIB)),
}


@pytest.mark.parametrize("name", BAD)
def test_hostile_file_counts_as_one_bad_record(name: str, tmp_path: Path) -> None:
    form, data = BAD[name]
    (tmp_path / "bad").write_bytes(data)

    def read() -> None:
        found = values_of(folder("files", tmp_path, form), "skip")
        assert found == ([], {"skipped-DeserializationError": 1}), found

    assert outcome_of(read) == "fine"


@pytest.mark.parametrize(
    ("data", "fields"),
    [(b'x,1,"' + b'","' * (4 * MIB) + b'"', "more"), (b"," * (15 * MIB), "more"),
     (b'""' + b',""' * (4 * MIB), "more")],
    ids=["quoted marks", "marks", "quoted fields"],
)  # fmt: skip
def test_csv_row_with_too_many_fields_counts_as_one_bad_record(
    data: bytes, fields: str, tmp_path: Path
) -> None:
    (tmp_path / "rows").write_bytes(b"a,b\nx,1\n" + data + b"\ny,2\n")

    def read() -> None:
        found, dropped = values_of(folder("rows", tmp_path, Csv(Row)), "skip")
        assert (found, dropped) == (
            [str(Row("x", 1)), str(Row("y", 2))],
            {"skipped-DeserializationError": 1},
        )

    assert outcome_of(read) == "fine", fields


@pytest.mark.parametrize(("told", "good", "bad"), [(40, 40, 0), (60, 50, 10), (10_150, 50, 10_100)])
def test_rows_of_parquet_file_whose_footer_has_wrong_row_count_are_read(
    told: int, good: int, bad: int, tmp_path: Path
) -> None:
    (tmp_path / "rows").write_bytes(with_row_count(50, told))
    found, dropped = values_of(folder("rows", tmp_path, Parquet(Row)), "skip")
    assert len(found) == good
    assert dropped == ({"skipped-DeserializationError": bad} if bad else {})


def test_compressed_rows_of_long_texts_are_read_in_parts_within_byte_limit(tmp_path: Path) -> None:
    """24 KB that expand to 10 GB: a reader stops at its limit."""
    (tmp_path / "rows").write_bytes(repeating(500_000, 20_000))
    log = folder("rows", tmp_path, Parquet(Row))

    def read() -> None:
        with closing(log.contents()) as contents, closing(log.reader()) as reader:
            (piece,) = contents.pieces(0, 0, contents.ends()[0])
            found = reader.read(piece, max_bytes=32 * MIB)
        assert 60 < found.num_rows < 200, found.num_rows

    assert outcome_of(read) == "fine"


def test_gzip_file_of_many_members_is_read_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(gzip.compress(b"") * 300_000 + gzip.compress(b"one\n"))
    assert values_of(folder("lines", tmp_path, Gzip(Lines(TEXT)))) == (["one"], {})
