"""`kstreams explain` and `kstreams trace`: their text and JSON output."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from tests.packages.kstreams_cli.committed_word_count import WHERE, counted_words
from tests.support.cli.command_line import kstreams, say

TOPOLOGY = "explained_words"
RUN = (*WHERE, "--topology", TOPOLOGY)


@pytest.fixture(autouse=True)
def _app(monkeypatch: pytest.MonkeyPatch) -> None:
    counted_words(monkeypatch, TOPOLOGY)


def test_explain_shows_value_history_and_records() -> None:
    found = kstreams("explain", "word-count", "counts", "a", *RUN)
    assert found.exit_code == 0
    lines = [line.split() for line in found.stdout.splitlines()]
    assert lines[0] == ["counts", "/", "a", "3"]
    assert [line[0] for line in lines[3:5]] == ["2", "0"]
    assert [line[:2] for line in lines[-2:]] == [["1", "2"], ["2", "3"]]
    assert lines[-1][2].startswith("lines/")
    assert lines[-1][3].startswith("by-word/")
    assert "batch 2 replayed" in found.stderr
    assert "equal to the commit" in found.stderr


def test_explain_without_the_topology_shows_the_history() -> None:
    found = kstreams("explain", "word-count", "counts", "b", *WHERE)
    assert found.exit_code == 0
    assert "Add --topology MODULE:NAME to show the records" in found.stderr
    refused = kstreams("explain", "word-count", "counts", "b", "--batch", "1", *WHERE)
    assert refused.exit_code == 2


def test_explain_command_prints_json() -> None:
    found = json.loads(say("explain", "word-count", "counts", "a", "--all", "--json", *RUN))
    assert (found["value"], [each["batch"] for each in found["explained"]]) == (
        [{"value": 3}],
        [2, 0],
    )
    key = b64encode(b"a").decode()
    by_bytes = json.loads(
        say("explain", "word-count", "counts", "--key-bytes", key, "--json", *RUN)
    )
    assert (by_bytes["key"], by_bytes["history"]) == ("a", found["history"])


def test_explain_shows_markup_in_keys_as_text_and_requires_a_key() -> None:
    assert "counts / [red]c[/]" in say("explain", "word-count", "counts", "[red]c[/]", *RUN)
    assert kstreams("explain", "word-count", "counts", *RUN).exit_code == 2
    assert "no such key" in say("explain", "word-count", "counts", "zebra", *RUN)


def test_trace_shows_path_of_record_through_nodes() -> None:
    found = json.loads(say("explain", "word-count", "counts", "b", "--json", *RUN))
    record = found["explained"][0]["steps"][0]["record"]
    place = f"lines/{record['partition']}@{record['offset']}"
    text = say("trace", "word-count", place, *RUN)
    assert "batch 1 of query 'lines'" in text
    assert "counts: 1 > 2" in text
    steps = json.loads(say("trace", "word-count", place, "--json", *RUN))["batches"][0]["steps"]
    assert [step["what"] for step in steps] == ["entered", "left", "entered", "left", "wrote"]


@pytest.mark.parametrize(
    ("place", "options", "code", "problem"),
    [
        ("lines", RUN, 2, "is not TOPIC/PARTITION@OFFSET"),
        ("lines/0@0", WHERE, 2, "a trace runs the code of the topology"),
        ("lines/0@99", RUN, 1, "it was not processed"),
        ("totals/0@0", RUN, 1, "does not read topic 'totals'"),
    ],
    ids=["no place", "no topology", "not yet", "not read"],
)
def test_trace_of_missing_record_is_reported_as_error(
    place: str, options: tuple[str, ...], code: int, problem: str
) -> None:
    found = kstreams("trace", "word-count", place, *options)
    assert found.exit_code == code
    assert problem in " ".join(found.stderr.replace("│", " ").split())


def test_audit_command_compares_batches() -> None:
    found = kstreams("state", "verify", "word-count", "--replay", "3", *RUN)
    assert found.exit_code == 0, found.output
    assert "3 batches of tasks replayed, all equal" in found.stderr
    report = json.loads(say("state", "verify", "word-count", "--replay", "99", "--json", *RUN))
    assert (report["problems"], {each["differs"] for each in report["replayed"]}) == ({}, {""})
    assert kstreams("state", "verify", "word-count", "--replay", "3", *WHERE).exit_code == 2
