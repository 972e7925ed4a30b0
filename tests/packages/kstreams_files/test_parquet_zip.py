"""Parquet files and ZIP archives: their rows, and unreadable parts."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstreams import TEXT
from kstreams.sources import Csv, Format, Gzip, Lines, Parquet, Whole, Zip, folder
from tests.packages.kstreams_files.test_folder import Order, driver_of, values_of, write

NOON = datetime(2020, 1, 1, 12, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Sale:
    """A row of each type."""

    item: str
    count: int
    price: float = 1.5
    open: bool = True
    day: date | None = None
    at: datetime | None = None


def parquet(place: Path, name: str, table: pa.Table, **options: Any) -> None:
    pq.write_table(table, place / f"{name}.part", **options)
    (place / f"{name}.part").rename(place / name)


def zipped(place: Path, name: str, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(place / f"{name}.part", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    (place / f"{name}.part").rename(place / name)


# ---------------------------------------------------------------- Parquet


def test_parquet_columns_are_fields_by_name(tmp_path: Path) -> None:
    table = pa.table(
        {
            "more": [1, 2],
            "at": pa.array([NOON, None], pa.timestamp("ms", "UTC")),
            "day": pa.array([None, date(2020, 1, 2)]),
            "open": [False, True],
            "price": pa.array([0.1, 1e300]),
            "count": pa.array([1, -2], pa.int16()),
            "item": pa.array(['tea, "green"\n', ""]).dictionary_encode(),
        }
    )
    parquet(tmp_path, "a", table)
    parquet(tmp_path, "b", table.select(["item", "count"]))
    found, dropped = values_of(folder("sales", tmp_path, Parquet(Sale)))
    sales = [
        Sale('tea, "green"\n', 1, 0.1, False, None, NOON),
        Sale("", -2, 1e300, True, date(2020, 1, 2)),
        Sale('tea, "green"\n', 1),
        Sale("", -2),
    ]
    utc = repr(pa.scalar(NOON, pa.timestamp("ms", "UTC")).as_py().tzinfo)
    shown = [str(sale).replace("datetime.timezone.utc", utc) for sale in sales]
    assert (found, dropped) == (shown, {})


def test_parquet_row_that_violates_type_counts_as_one_bad_record(tmp_path: Path) -> None:
    table = pa.table({"item": ["a", None, "c"], "count": pa.array([1, 2, 1 << 63], pa.uint64())})
    parquet(tmp_path, "a", table)
    found, dropped = values_of(folder("sales", tmp_path, Parquet(Sale)), "skip")
    assert (found, dropped) == ([str(Sale("a", 1))], {"skipped-DeserializationError": 2})


def test_damaged_row_group_does_not_affect_other_row_groups(tmp_path: Path) -> None:
    table = pa.table({"item": [f"{n:06}" for n in range(6_000)], "count": range(6_000)})
    parquet(tmp_path, "a", table, row_group_size=2_000, use_dictionary=False)
    data = bytearray((tmp_path / "a").read_bytes())
    group = pq.ParquetFile(tmp_path / "a").metadata.row_group(1).column(0)
    begin = group.data_page_offset
    data[begin : begin + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    (tmp_path / "a").write_bytes(data)
    found, dropped = values_of(folder("sales", tmp_path, Parquet(Sale)), "skip")
    assert len(found) == 4_000
    assert dropped == {"skipped-DeserializationError": 2_000}


def test_read_near_end_of_parquet_file_begins_at_row_group_of_first_row(tmp_path: Path) -> None:
    rows = 300_000
    table = pa.table({"item": [f"{n:032}" for n in range(rows)], "count": range(rows)})
    parquet(tmp_path, "a", table, row_group_size=100_000, use_dictionary=False)
    log = folder("sales", tmp_path, Parquet(Sale))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        assert contents.ends() == {0: rows}
        (piece,) = contents.pieces(0, 250_000, 250_002)
        assert "[200000," in piece.place
        found = reader.read(piece, max_bytes=1 << 30).column("value").combine_chunks()
    assert [sale.count for sale in log.value.deserialize_many(found) if sale] == [250_000, 250_001]


# ---------------------------------------------------------------- ZIP


def test_members_of_zip_archive_are_read_like_files(tmp_path: Path) -> None:
    zipped(tmp_path, "a", {"x/": b"", "x/1": b"one\ntwo", "x/0": b"", "y": b"three\n"})
    zipped(tmp_path, "b", {})
    assert values_of(folder("lines", tmp_path, Zip(Lines(TEXT)))) == (["one", "two", "three"], {})
    with driver_of(folder("files", tmp_path, Zip(Whole(TEXT)))) as driver:
        driver.run()
    log = folder("keys", tmp_path, Zip(Whole(TEXT)))
    with closing(log.contents()) as contents, closing(log.reader()) as reader:
        pieces = list(contents.pieces(0, 0, contents.ends()[0]))
        keys = [k for p in pieces for k in reader.read(p, max_bytes=1 << 30)["key"].to_pylist()]
    assert keys == [b"a/x/1", b"a/x/0", b"a/y"]


def test_each_csv_member_of_zip_archive_has_own_header_row(tmp_path: Path) -> None:
    members = {"1": b"item,count\ntea,1\n", "2": b"count,item\n2,milk\n"}
    zipped(tmp_path, "a", members)
    found, _ = values_of(folder("rows", tmp_path, Zip(Csv(Order))))
    assert found == [str(Order("tea", 1)), str(Order("milk", 2))]


def encrypted(data: bytes) -> bytes:
    """Mark the first member as encrypted, in both headers."""
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + at
        data = data[:place] + b"\x01" + data[place + 1 :]
    return data


def boasting(data: bytes) -> bytes:
    """Claim a larger size for the first member, in both headers."""
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = data.index(signature) + at
        data = data[:place] + (9_000).to_bytes(4, "little") + data[place + 4 :]
    return data


def as_it_is(data: bytes) -> bytes:
    return data


BAD_ARCHIVES: dict[str, tuple[Callable[[bytes], bytes], dict[str, bytes], str]] = {
    "no ZIP": (lambda _: b"one\ntwo\n", {"a": b"x"}, "not a complete ZIP"),
    "cut": (lambda data: data[:-30], {"a": b"x" * 1_000}, "not a complete ZIP"),
    "damaged": (
        lambda data: data.replace(b"x" * 50, b"y" * 50),
        {"a": b"x" * 50},
        "not a complete ZIP",
    ),
    "encrypted": (encrypted, {"a": b"x"}, "encrypted"),
    "boasting": (boasting, {"bomb": b"0" * 5_000}, "expected 9,000"),
    "up": (as_it_is, {"../../etc/passwd": b"x"}, "is not a relative path"),
    "absolute": (as_it_is, {"/etc/passwd": b"x"}, "is not a relative path"),
    "bomb": (as_it_is, {"a": b"0" * (40 << 20)}, "become more than"),
    "crowd": (as_it_is, {f"{n}": b"" for n in range(11)}, "11 members"),
    "member": (as_it_is, {"fine": b"x\n", "wide": b"\xff\xfex"}, "'wide': the text is UTF-16"),
}


@pytest.mark.parametrize("name", BAD_ARCHIVES)
def test_unreadable_archive_counts_as_one_bad_record(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harm, members, why = BAD_ARCHIVES[name]
    place = tmp_path / "in"
    place.mkdir()
    with zipfile.ZipFile(tmp_path / "whole", "w") as archive:
        kind = zipfile.ZIP_DEFLATED if name in ("bomb", "boasting") else zipfile.ZIP_STORED
        for member, data in members.items():
            archive.writestr(zipfile.ZipInfo(member), data, kind)
    write(place, bad=harm((tmp_path / "whole").read_bytes()))
    log = folder("lines", place, Zip(Lines(TEXT, max_record_bytes=1 << 30), max_members=10))
    assert values_of(log, "skip") == ([], {"skipped-DeserializationError": 1})
    assert why in caplog.text


@pytest.mark.parametrize("form", [Parquet(Sale), Zip(Lines(TEXT))], ids=["parquet", "zip"])
def test_random_access_formats_are_refused_inside_archives(form: Format[Any, Any]) -> None:
    for outer in (Gzip, Zip):
        with pytest.raises(TypeError, match="cannot be read inside archives"):
            outer(form)
