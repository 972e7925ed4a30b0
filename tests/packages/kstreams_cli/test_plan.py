"""`kstreams plan`: effects of a start on the state, by exit code, text and JSON."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from kstreams import DOUBLE, Embedded
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.state.stores.key_value.kind import key_value_store
from tests.support.apps.committing_app import PARTITIONS, Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.cli.command_line import kstreams

MODULE = """
from kstreams import DOUBLE, INT64, TEXT, Topic, TopologyBuilder, filter_, key_value_store
from kstreams.aggregators import count
from kstreams.app import Migration
from kstreams.durations import minutes
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, windowed_aggregate


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
renamed = build(key_value_store("totals", key=TEXT, value=INT64))
two = build(*(key_value_store(name, key=TEXT, value=INT64) for name in ("totals", "sums")))
halved = Migration(COUNTS, lambda key, value: value / 2)


def windows(size):
    builder = TopologyBuilder("viewed")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    store = window_store("counts", key=TEXT, value=INT64)
    supplier = windowed_aggregate(TumblingWindows(minutes(size)), count(), store=store)
    builder.add_processor("count", supplier, source)
    return builder.build()


one, seven = windows(1), windows(7)
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
        ("same", ("--reset", "nothing"), 1, "names 'nothing', but neither"),
        ("renamed", (), 1, "Hint: kstreams plan planned:renamed --checkpoint c --rename"),
        ("renamed", ("--rename", "counts=totals"), 3, "store 'totals': new: migrate"),
        ("two", (), 1, "Hint: kstreams plan planned:two --checkpoint c --reset counts"),
        ("other", ("--migrate", "counts=planned:halved"), 3, "now double): migrate"),
    ],
)
def test_plan_shows_the_change_of_each_store(
    name: str, options: tuple[str, ...], code: int, said: str
) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    before = {path: path.lstat().st_mtime_ns for path in Path("c").rglob("*")}
    found = planned(name, *options)
    assert (found[0], said in found[1]) == (code, True), found[1]
    assert {path: path.lstat().st_mtime_ns for path in Path("c").rglob("*")} == before


def test_plan_command_prints_json() -> None:
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


def test_plan_without_a_checkpoint_starts_fresh() -> None:
    assert "would start fresh" in planned("same")[1]
    assert planned("same")[0] == 0
    assert not Path("c").exists()


def test_plan_reports_mismatched_topics() -> None:
    Committing(Path("c").absolute(), key_value_store("counts", key=DOUBLE, value=DOUBLE))
    Embedded("other").log().ensure("in", PARTITIONS + 1)
    code, said = planned("same", "--data", "other")
    assert (code, "3 partitions before, now 4" in said) == (1, True), said
    code, said = planned("same", "--data", "none-here")
    assert (code, "topic" in said) == (1, True)


def test_plan_accepts_a_suggested_option() -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    hint = planned("renamed")[1].partition("Hint: kstreams plan planned:renamed ")[2]
    result = kstreams("plan", "planned:renamed", *shlex.split(hint))
    assert result.exit_code == 3, result.output
    assert "store 'counts': removed: drop" in result.stdout


def test_plan_refuses_another_window_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from planned import one  # type: ignore[import-not-found]  # made by the fixture

    tasks = {group.name: PARTITIONS for group in one.groups}
    Checkpoint.open(home_of(Path("c").absolute()), "viewed", one, tasks=tasks)
    code, said = planned("seven")
    assert code == 1
    assert "store 'counts' would be misread: windows size was 0:01:00, now 0:07:00" in said
    assert "migrate={'counts': Migration(" in said
    assert "--reset counts" in said
    assert planned("seven", "--reset", "counts")[0] == 3
    assert planned("one")[0] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rename", "counts"), "number 1 is not name=value"),
        (("--rename", "counts=nowhere"), "the topology has no store 'nowhere'; it has 'totals'"),
        (
            ("--rename", "a=totals", "--rename", "b=totals"),
            "two stores would be renamed to 'totals'",
        ),
        (("--migrate", "nowhere=planned:halved"), "the topology has no store 'nowhere'"),
        (
            ("--migrate", "totals=planned:COUNTS"),
            "planned:COUNTS is StoreSpec, expected a Migration",
        ),
        (
            ("--rename", "a=totals", "--migrate", "totals=planned:halved"),
            "by both --rename and --migrate",
        ),
    ],
)
def test_plan_refuses_options_without_effect(options: tuple[str, ...], said: str) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    result = kstreams("plan", "planned:renamed", "--checkpoint", "c", *options)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_plan_of_missing_topic_shows_command_that_creates_it() -> None:
    result = kstreams("plan", "planned:none", "--data", "elsewhere")
    assert result.exit_code == 1
    assert "`kstreams topics create in --partitions 4 --data elsewhere`" in result.stderr
    assert "connection.admin()" not in result.stderr
    assert not Path("elsewhere").exists()
