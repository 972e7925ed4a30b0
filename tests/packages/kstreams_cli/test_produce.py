"""`kstreams topics produce` makes records from lines of text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import Embedded
from kstreams.connection import RawRecord
from tests.support.cli.command_line import kstreams, say


@pytest.fixture(autouse=True)
def _topic() -> None:
    say("topics", "create", "t", "-p", "2")


def records() -> list[RawRecord]:
    connection = Embedded("data")
    ends = connection.admin().end_offsets("t")
    found = [r for p, end in ends.items() for r in connection.reader().read("t", p, 0, end)]
    return sorted(found, key=lambda r: (r.timestamp, r.key or b""))


def pairs() -> list[tuple[bytes | None, bytes | None]]:
    return sorted(((r.key, r.value) for r in records()), key=repr)


def test_produce_line_is_key_tab_value_or_value_alone() -> None:
    result = kstreams("topics", "produce", "t", given="ann\t3\tleft\nalone\n\n")
    assert result.stderr == "Appended 3 records to t.\n"
    assert pairs() == sorted([(b"ann", b"3\tleft"), (None, b"alone"), (None, b"")], key=repr)


def test_produce_writes_records_to_partition_of_their_key() -> None:
    say("topics", "produce", "t", given="ann\t1\nbob\t2\nann\t3\n")
    partitions = {(r.key, r.partition) for r in records()}
    assert len(partitions) == 2


def test_produce_encodes_text_by_key_and_value_serdes() -> None:
    options = ["--key-serde", "int32", "--value-serde", "json"]
    say("topics", "produce", "t", *options, given='7\t{"b": [1, null]}\n')
    assert pairs() == [(b"\0\0\0\7", b'{"b":[1,null]}')]


@pytest.mark.parametrize(
    ("serde", "text", "data"),
    [
        ("int64", "-1", b"\xff" * 8),
        ("double", "0.5", b"\x3f\xe0" + bytes(6)),
        ("bool", "true", b"\1"),
        ("text", "é", b"\xc3\xa9"),
        ("none", "whatever", None),
    ],
)
def test_produce_encodes_values_by_each_serde(serde: str, text: str, data: bytes | None) -> None:
    say("topics", "produce", "t", "--value-serde", serde, given=f"{text}\n")
    assert pairs() == [(None, data)]


def test_produce_writes_bytes_unchanged() -> None:
    say("topics", "produce", "t", "--value-serde", "bytes", given=b"\xff\r\n")
    assert pairs() == [(None, b"\xff\r")]


def test_produce_applies_separator_tombstone_and_header_options() -> None:
    options = ["--separator", "::", "--tombstone", "NULL", "--header", "a=1", "--header", "b=x=y"]
    say("topics", "produce", "t", *options, given="k::v\nl::NULL\n")
    assert pairs() == [(b"k", b"v"), (b"l", None)]
    assert {r.headers for r in records()} == {(("a", b"1"), ("b", b"x=y"))}


def test_produce_with_empty_separator_writes_null_keys() -> None:
    say("topics", "produce", "t", "--separator", "", given="a\tb\n")
    assert pairs() == [(None, b"a\tb")]


def test_produce_accepts_one_timestamp_or_one_in_each_line() -> None:
    say("topics", "produce", "t", "--timestamp", "1970-01-01T00:00:01Z", given="a\n")
    say("topics", "produce", "t", "--timestamp", "@2000", given="b\n")
    say(
        "topics",
        "produce",
        "t",
        "--timestamp",
        "field",
        given="3000\tk\tc\n1970-01-01T00:00:04\td\n",
    )
    assert [(r.timestamp, r.value) for r in records()] == [
        (1000, b"a"),
        (2000, b"b"),
        (3000, b"c"),
        (4000, b"d"),
    ]


def test_produce_reports_number_of_bad_line_and_writes_earlier_lines() -> None:
    result = kstreams("topics", "produce", "t", "--value-serde", "int64", given="1\n2\nthree\n4\n")
    assert result.exit_code == 1
    assert "line 3: invalid literal for int()" in result.stderr
    assert "the lines before this line are in the topic" in result.stderr
    assert len(records()) == 2


def test_produce_reports_line_of_number_out_of_range() -> None:
    result = kstreams("topics", "produce", "t", "--value-serde", "int32", given=f"{1 << 40}\n")
    assert result.exit_code == 1
    assert "SerializationError: line 1: expected int32" in result.stderr


def test_produce_reads_lines_from_file(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a\nb")
    say("topics", "produce", "t", "--from", "lines.txt")
    assert pairs() == [(None, b"a"), (None, b"b")]
    missing = kstreams("topics", "produce", "t", "--from", "lanes.txt")
    assert missing.exit_code == 2
    assert "cannot read lanes.txt: No such file" in missing.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--value-serde", "int46"],
        ["--timestamp", "yesterday"],
        ["--timestamp", "field", "--separator", ""],
        ["--header", "a"],
    ],
    ids=lambda options: options[0],
)
def test_produce_with_invalid_options_is_usage_error(options: list[str]) -> None:
    result = kstreams("topics", "produce", "t", *options, given="x\n")
    assert (result.exit_code, records()) == (2, [])
    assert f"Invalid value for '{options[0]}'" in result.stderr
