"""`kstreams plan`: what a start would do to the state, by exit code, text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kstreams import DOUBLE, Embedded
from kstreams.state.stores.key_value.kind import key_value_store
from tests.kstreams.cli.terminal import kstreams
from tests.kstreams.views.committing import PARTITIONS, Committing
from tests.kstreams.views.counted import COUNTS

MODULE = """
from kstreams import DOUBLE, INT64, TEXT, Topic, TopologyBuilder, filter_, key_value_store


def build(*specs):
    builder = TopologyBuilder("viewed")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=specs)
    return builder.build()


COUNTS = key_value_store("counts", key=TEXT, value=INT64)
same = build(COUNTS)
more = build(COUNTS, key_value_store("more", key=TEXT, value=INT64))
other = build(key_value_store("counts", key=TEXT, value=DOUBLE))
none = build()
"""


@pytest.fixture(autouse=True)
def _app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "planned.py").write_text(MODULE)
    Embedded("data").log().ensure("in", PARTITIONS)


def planned(name: str, *options: str) -> tuple[int, str]:
    result = kstreams("plan", f"planned:{name}", "--checkpoint", "c", *options)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


@pytest.mark.parametrize(
    ("name", "options", "code", "said"),
    [
        ("same", (), 0, "store 'counts': same: keep"),
        ("more", (), 0, "store 'more': new: begin empty"),
        ("other", (), 1, "store 'counts' would be misread: value was int64, now double"),
        ("other", ("--reset", "counts"), 3, "store 'counts': changed"),
        ("none", (), 1, "store 'counts' is no longer in the topology"),
        ("none", ("--reset", "counts"), 3, "store 'counts': removed: drop"),
        ("same", ("--reset", "nothing"), 1, "reset names 'nothing'"),
    ],
)
def test_what_becomes_of_the_stores(
    name: str, options: tuple[str, ...], code: int, said: str
) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    before = {path: path.lstat().st_mtime_ns for path in Path("c").rglob("*")}
    found = planned(name, *options)
    assert (found[0], said in found[1]) == (code, True), found[1]
    assert {path: path.lstat().st_mtime_ns for path in Path("c").rglob("*")} == before


def test_programs_get_json() -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    result = kstreams("plan", "planned:other", "--checkpoint", "c", "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, said["fresh"], said["tasks"]) == (1, False, {"in": PARTITIONS})
    assert said["stores"] == [
        {
            "store": "counts",
            "change": "changed",
            "detail": "value was int64, now double",
            "action": None,
        }
    ]
    assert len(said["problems"]) == 1
    assert said["restores_bytes"]["in"] > 0


def test_without_a_checkpoint_it_starts_fresh() -> None:
    assert "starts fresh" in planned("same")[1]
    assert planned("same")[0] == 0
    assert not Path("c").exists()


def test_topics_that_do_not_fit_are_told() -> None:
    Committing(Path("c").absolute(), key_value_store("counts", key=DOUBLE, value=DOUBLE))
    Embedded("other").log().ensure("in", PARTITIONS + 1)
    code, said = planned("same", "--data", "other")
    assert (code, "3 partitions before, now 4" in said) == (1, True), said
    code, said = planned("same", "--data", "none-here")
    assert (code, "topic" in said) == (1, True)
