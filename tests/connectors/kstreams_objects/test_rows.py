"""Contents of files, refused rows, and names of folders."""

from __future__ import annotations

import csv
import json
import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstreams.errors import RecordRefusedError
from kstreams_objects import CsvTable, JsonLines, Objects, Parquet
from tests.support.sinks.sink_writes import commit_of, given, write


def _columns(_key: object, value: Any) -> Any:
    return value


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith("_")
    )


def test_json_lines_keep_the_order_and_refuse_values_that_json_lacks(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    rows: list[Any] = [
        {"a": "é\n", "b": [1, {"c": None}]},
        {"a": math.nan},
        {"a": date(2026, 1, 2)},
        {"a": "half \ud800"},
        None,
        5,
        {"a": 2},
    ]
    refused = write(sink, given(*((f"k{n}", row) for n, row in enumerate(rows))))
    assert [row.row for row in refused] == [1, 2, 3, 5]
    (path,) = _files(tmp_path)
    assert path.read_text() == '{"a":"é\\n","b":[1,{"c":null}]}\n{"a":2}\n'


def test_csv_quotes_texts_fills_missing_columns_and_refuses_unknown_columns(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=CsvTable(("a", "b")), row=_columns)
    rows: list[Any] = [{"a": 'x,"y"\n', "b": 1}, {"c": 1}, {"b": Decimal("1.50")}, {"a": [1]}]
    refused = write(sink, given(*((f"k{n}", row) for n, row in enumerate(rows))))
    assert [(row.row, row.reason.split(":")[0]) for row in refused] == [
        (1, "ValueError"),
        (3, "TypeError"),
    ]
    (path,) = _files(tmp_path)
    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [["a", "b"], ['x,"y"\n', "1"], ["", "1.50"]]


def test_parquet_file_has_the_given_schema_and_rows_that_violate_it_are_refused(
    tmp_path: Path,
) -> None:
    schema = pa.schema([pa.field("n", pa.int16(), nullable=False), pa.field("t", pa.string())])
    sink: Objects[str, Any] = Objects(str(tmp_path), format=Parquet(schema), row=_columns)
    rows: list[Any] = [{"n": n} for n in range(100)]
    rows[7], rows[8], rows[50], rows[99] = {"n": 1 << 20}, {"n": None}, {"n": "x"}, {"n": 1, "u": 2}
    refused = write(sink, given(*((f"k{n}", row) for n, row in enumerate(rows))))
    assert [row.row for row in refused] == [7, 8, 50, 99]
    (path,) = _files(tmp_path)
    table = pq.read_table(path)
    assert table.schema.equals(schema)
    assert table["n"].to_pylist() == [n for n in range(100) if n not in (7, 8, 50, 99)]
    assert json.loads(refused[0].letter.value or b"") == {"n": 1 << 20}


def test_rows_are_written_to_one_file_per_folder_and_folder_outside_of_place_is_refused(
    tmp_path: Path,
) -> None:
    place = tmp_path / "place"
    sink: Objects[Any, int] = Objects(
        str(place), format=JsonLines(), row=lambda _k, n: {"n": n}, folder=lambda key, _n: key
    )
    bad = [
        "../x",
        "/x",
        "a//b",
        "a/../b",
        ".hidden",
        "_staged",
        "",
        "nul\0",
        "line\n",
        "é" * 130,
        5,
    ]
    pairs = [("day=1", 1), *((name, 0) for name in bad), ("day=2/x", 2), ("day=1", 3)]
    refused = write(sink, given(*pairs), commit_of(7, task=3))
    assert [row.row for row in refused] == list(range(1, len(bad) + 1))
    found = {str(path.parent.relative_to(place)): path.read_text() for path in _files(tmp_path)}
    assert found == {"day=1": '{"n":1}\n{"n":3}\n', "day=2/x": '{"n":2}\n'}
    assert all(path.name.endswith("-00003-000000000007.jsonl") for path in _files(place))


def test_empty_batch_makes_no_file(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    write(sink, given(("a", None)))
    refused = write(sink, given(("a", {1})), commit_of(1))
    assert [row.row for row in refused] == [0]
    with pytest.raises(RecordRefusedError):
        write(sink, given(("a", {"n": 1}), ("b", 5), fails=True), commit_of(2))
    assert _files(tmp_path) == []


def test_file_names_sort_by_batch_and_differ_between_tasks_and_epochs(
    tmp_path: Path,
) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    for batch in (9, 10, 100):
        write(sink, given(("a", {"n": batch})), commit_of(batch))
    assert [json.loads(path.read_text())["n"] for path in _files(tmp_path)] == [9, 10, 100]
    write(sink, given(("a", {"n": 0})), commit_of(9, task=1))
    write(sink, given(("a", {"n": 0})), commit_of(9, epoch="another"))
    assert len(_files(tmp_path)) == 5


def test_publish_again_does_not_rewrite_a_file_that_was_removed(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    receipts = sink.open().write(given(("a", {"n": 1})), commit_of())
    sink.publish({commit_of(): receipts})
    for path in _files(tmp_path):
        path.unlink()
    sink.publish({commit_of(): receipts})
    assert _files(tmp_path) == []


def test_uncommitted_files_are_removed_by_a_new_writer(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    for batch in (0, 1):
        sink.open().write(given(("a", {"n": 1})), commit_of(batch))  # dies
    sink.open().write(given(("a", {"n": 1})), commit_of(0, task=1))
    write(sink, given(("a", {"n": 1})), commit_of(1))
    staged = [p.name.split("-")[0] for p in (tmp_path / "_staged").rglob("*") if p.is_file()]
    assert sorted(staged) == ["000000000000", "000000000001"]  # of another task, and of an attempt


def test_second_batch_of_a_writer_removes_files_left_by_other_attempts_of_first_batch(
    tmp_path: Path,
) -> None:
    sink: Objects[str, Any] = Objects(str(tmp_path), format=JsonLines(), row=_columns)
    lost, writer = sink.open(), sink.open()
    lost.write(given(("a", {"n": 1})), commit_of(3))
    sink.publish({commit_of(3): writer.write(given(("a", {"n": 1})), commit_of(3))})
    writer.write(given(("a", {"n": 2})), commit_of(4))
    staged = [p.name.split("-")[0] for p in (tmp_path / "_staged").rglob("*") if p.is_file()]
    assert staged == ["000000000004"]


def test_csv_format_with_repeated_column_names_is_refused() -> None:
    with pytest.raises(ValueError, match="distinct names"):
        CsvTable(("a", "a"))


def test_objects_sink_accepts_path_or_storage_as_place(tmp_path: Path) -> None:
    sink: Objects[str, Any] = Objects(tmp_path, format=JsonLines(), row=_columns)
    assert sink.label == f"files in {tmp_path}"
    write(sink, given(("k", {"a": 1})))
    assert [path.read_text() for path in _files(tmp_path)] == ['{"a":1}\n']
    wrong: Any = 7
    with pytest.raises(TypeError, match="got int"):
        Objects(wrong, format=JsonLines(), row=_columns)
    with pytest.raises(ValueError, match="not the path of a directory"):
        Objects("s3://bucket", format=JsonLines(), row=_columns)
