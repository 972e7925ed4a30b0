"""`kstreams topics tail` shows records as text or JSON, between given points."""

from __future__ import annotations

import json
import threading
import time
from types import SimpleNamespace

import pytest

from kstreams import INT64, TEXT, Embedded, Emitter, Topic
from kstreams.connection import RawRecord
from kstreams.durations import minutes
from kstreams.windows import TumblingWindows, Windowed, windowed
from kstreams_cli import tail
from tests.support.cli.command_line import kstreams, say


@pytest.fixture(autouse=True)
def _topic() -> None:
    Embedded("data").admin().create("t", 1)
    say("topics", "produce", "t", "--timestamp", "field", given="".join(LINES))


LINES = [f"{1000 * n}\tk{n}\tv{n}\n" for n in range(1, 6)]


def values(*options: str) -> list[str]:
    return [line.split("\t")[4] for line in say("topics", "tail", "t", *options).splitlines()]


def test_tail_line_has_position_time_key_value_and_headers() -> None:
    say("topics", "produce", "t", "--header", "h=x", "--timestamp", "@9007", given="last\n")
    first, *_, last = say("topics", "tail", "t").splitlines()
    assert first == "0\t0\t1970-01-01T00:00:01.000Z\tk1\tv1"
    assert last == "0\t5\t1970-01-01T00:00:09.007Z\tnull\tlast\th=x"


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("beginning", ["v1", "v2", "v3", "v4", "v5"]),
        ("end", []),
        ("3", ["v4", "v5"]),
        ("99", []),
        ("-2", ["v4", "v5"]),
        ("-99", ["v1", "v2", "v3", "v4", "v5"]),
        ("1970-01-01T00:00:04Z", ["v4", "v5"]),
        ("1970-01-01T02:00:04.001+02:00", ["v5"]),
        ("@2001", ["v3", "v4", "v5"]),
    ],
)
def test_tail_begins_at_given_offset_or_time(point: str, expected: list[str]) -> None:
    assert values("--from", point) == expected


def test_tail_ends_at_the_limit() -> None:
    assert values("--limit", "2") == ["v1", "v2"]


def test_tail_merges_partitions_by_time() -> None:
    Embedded("data").admin().create("u", 4)
    lines = [f"{1000 * (n % 7)}\t{n}\t{n}\n" for n in range(40)]
    say("topics", "produce", "u", "--timestamp", "field", given="".join(lines))
    times = [line.split("\t")[2] for line in say("topics", "tail", "u").splitlines()]
    offsets = [line.split("\t")[:2] for line in say("topics", "tail", "u").splitlines()]
    assert len(times) == 40
    for partition in "0123":
        own = [int(offset) for p, offset in offsets if p == partition]
        assert own == sorted(own)


def test_tail_json_output_has_types_and_nulls() -> None:
    topic = Topic("u", key=TEXT, value=INT64, nulls="pass")
    with Emitter(topic, Embedded("data", default_partitions=1)) as emitter:
        emitter.emit("ann", 7, timestamp=0, headers=(("h", b"\xff"), ("n", None)))
        emitter.emit("bob", None, timestamp=1)
    lines = say("topics", "tail", "u", "--format", "json", "--value-serde", "int64").splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "partition": 0,
            "offset": 0,
            "timestamp": "1970-01-01T00:00:00.000Z",
            "key": "ann",
            "value": 7,
            "headers": [["h", "b'\\xff'"], ["n", None]],
        },
        {
            "partition": 0,
            "offset": 1,
            "timestamp": "1970-01-01T00:00:00.001Z",
            "key": "bob",
            "value": None,
            "headers": [],
        },
    ]


def test_tail_shows_undecodable_bytes_unchanged() -> None:
    say("topics", "produce", "t", "--value-serde", "bytes", given=b"\xff\xfe\n")
    assert values("--from", "-1") == ["b'\\xff\\xfe'"]
    (line,) = say("topics", "tail", "t", "--from", "-1", "--format", "json").splitlines()
    assert json.loads(line)["undecodable"] == ["value"]
    assert values("--from", "0", "--limit", "1", "--value-serde", "int64") == ["b'v1'"]


def test_tail_escapes_control_characters() -> None:
    say("topics", "produce", "t", given="\x1b[31mred\a\n")
    assert values("--from", "-1") == ["\\x1b[31mred\\x07"]


def test_tail_follow_shows_new_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_POLL_SECONDS", 0.01)
    connection = Embedded("data")

    def write() -> None:
        time.sleep(0.2)
        with Emitter(Topic("t", key=TEXT, value=TEXT), connection) as emitter:
            emitter.emit_many([("a", "new"), ("b", "newer")])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert values("--follow", "--limit", "2") == ["new", "newer"]
    finally:
        writer.join()


def test_interrupt_ends_tail_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tail, "time", SimpleNamespace(sleep=interrupted))  # not in all threads
    assert values("--follow", "--from", "-1") == ["v5"]


def test_tail_with_invalid_options_is_usage_error() -> None:
    assert kstreams("topics", "tail", "t", "--from", "soon").exit_code == 2
    near = kstreams("topics", "tail", "t", "--key-serde", "txt")
    assert near.exit_code == 2
    assert "did you mean 'text'?" in near.stderr


def test_tail_reads_records_from_given_offsets() -> None:
    connection = Embedded("data")
    found = tail._records(connection.admin(), connection.reader(), "t", {0: 4}, follow=False)
    assert list(found) == [RawRecord("t", 0, 4, 5000, b"k5", b"v5")]


@pytest.mark.parametrize("text", ["\\ud800", "\\u001b[2J", "\\u009b2J", "\\u202e", "\\u2028x", "é"])
def test_json_of_any_text_is_one_line_without_control_characters(text: str) -> None:
    written = f'{{"a":"{text}"}}'
    with Emitter(Topic("t", TEXT, TEXT), Embedded("data")) as emitter:
        emitter.emit("k", written)
    shown = say("topics", "tail", "t", "--format", "json", "--value-serde", "json", "--from", "-1")
    (line,) = shown.splitlines()
    assert line.isprintable()
    assert json.loads(line)["value"] == json.loads(written)


def test_tail_counts_undecodable_values_in_a_note() -> None:
    say("topics", "produce", "t", "--value-serde", "int64", given="7\n")
    result = kstreams("topics", "tail", "t", "--value-serde", "int64", "--from", "-2")
    note = " ".join(result.stderr.split())
    assert "1 value shown as bytes: not readable with the serde int64" in note
    assert "--value-serde" in note
    assert kstreams("topics", "tail", "t", "--limit", "1").stderr == ""


def test_tail_shows_times_of_windowed_keys_in_utc() -> None:
    windows = TumblingWindows(minutes(1))
    topic = Topic("w", key=windowed(TEXT, windows), value=INT64)
    with Emitter(topic, Embedded("data", default_partitions=1)) as emitter:
        emitter.emit(Windowed("ann", 60_000, 120_000), 7, timestamp=0)
    serdes = ("--key-serde", f"{__name__}:WINDOWED_KEY", "--value-serde", "int64")
    start, end = "1970-01-01T00:01:00.000Z", "1970-01-01T00:02:00.000Z"
    assert say("topics", "tail", "w", *serdes).split("\t")[3] == f"ann@{start}/{end}"
    line = json.loads(say("topics", "tail", "w", *serdes, "--format", "json"))
    assert line["key"] == {"key": "ann", "start": start, "end": end}


WINDOWED_KEY = windowed(TEXT, TumblingWindows(minutes(1)))
