"""`kstreams state diff`: the rows that differ between two versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstreams import INT64, TEXT
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.durations import milliseconds
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import FakeClock
from kstreams.windows import TumblingWindows, Windowed
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.cli.command_line import kstreams, say

WHERE = ("--checkpoint", "c")


@pytest.fixture
def app() -> Committing:
    made = Committing(Path("c").absolute(), COUNTS)
    made.put([("a", 1), ("b", 2), ("c", 3)])
    Savepoints(made.checkpoint, made.objects).create("then", FakeClock())
    made.put([("a", 5), ("b", None), ("d", 4)])
    return made


def rows(*arguments: str) -> list[list[str]]:
    lines = say("state", "diff", "viewed", "counts", *arguments, *WHERE).splitlines()
    return [line.split() for line in lines[1:]]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("versions", [("0",), ("0", "1"), ("then",), ("then", "1")])
def test_diff_shows_changed_deleted_and_new_rows(versions: tuple[str, ...]) -> None:
    expected = [["-", "a", "1"], ["+", "a", "5"], ["-", "b", "2"], ["+", "d", "4"]]
    assert rows(*versions) == expected


@pytest.mark.usefixtures("app")
def test_state_diff_accepts_reversed_or_equal_versions_and_a_limit() -> None:
    assert rows("1", "0")[:2] == [["-", "a", "5"], ["+", "a", "1"]]
    assert rows("1", "1") == []
    found = kstreams("state", "diff", "viewed", "counts", "0", "--limit", "1", *WHERE)
    assert "4 changed rows between versions 0 and 1, 1 of them shown" in found.stderr


@pytest.mark.usefixtures("app")
def test_state_diff_prints_one_json_line_per_row() -> None:
    lines = say("state", "diff", "viewed", "counts", "0", "--json", *WHERE).splitlines()
    assert json.loads(lines[0]) == {"change": "-", "key": "a", "value": "1"}


@pytest.mark.usefixtures("app")
def test_state_diff_refuses_version_that_is_not_retained() -> None:
    found = kstreams("state", "diff", "viewed", "counts", "7", *WHERE)
    assert (found.exit_code, "is not retained" in " ".join(found.stderr.split())) == (1, True)


def test_diff_shows_windows_as_separate_rows() -> None:
    spec = window_store("counts", key=TEXT, value=INT64, windows=TumblingWindows(milliseconds(10)))
    made = Committing(Path("c").absolute(), spec)
    made.commit(lambda s, p: s.put(Windowed(f"k{p}", 10, 20), 1))
    made.commit(lambda s, p: p == 1 and s.put(Windowed("k1", 20, 30), 2))
    assert rows("0") == [["+", "k1", "1970-01-01T00:00:00.020Z", "2"]]
