"""`kstreams shadow`: runs a changed topology next to an app, and makes it the app."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kstreams_cli.program import PROGRAM
from tests.support.apps.shadowed_app import ShadowedApp, counting, filtering

MODULE = "tests.support.apps.shadowed_app"


def command(home: Path, name: str, *options: str, new: str = "filtering") -> tuple[int, str]:
    where = ("--checkpoint", str(home / "app"), "--data", str(home / "topics"))
    shadow = ("--shadow", str(home / "shadow"))
    arguments = ["shadow", name, f"{MODULE}:counting", f"{MODULE}:{new}", *where, *shadow]
    return invoke(*arguments, *options)


def invoke(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(PROGRAM, list(arguments), env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, " ".join(found.output.split())


@pytest.fixture
def app(tmp_path: Path) -> ShadowedApp:
    made = ShadowedApp(tmp_path, counting())
    made.run([("a", 1), ("b", 0)])
    made.savepoint()
    made.run([("a", 0), ("a", 2)])
    return made


def test_run_of_equal_topologies_exits_with_zero(app: ShadowedApp) -> None:
    options = ("--from", "before", "--until-caught-up", "--json")
    code, output = command(app.home, "run", *options, new="counting")
    shown = json.loads(output)
    assert (code, shown["app"], shown["batches"], shown["equal"]) == (0, "app", 1, True)
    assert shown["stores"]["counts"]["equal"] == 2


def test_run_of_changed_topology_shows_examples_and_exits_with_one(app: ShadowedApp) -> None:
    code, output = command(app.home, "run", "--from", "before", "--until-caught-up")
    assert code == 1
    assert "different, key a: count a 3 / count a 2" in output
    assert "1 batch compared" in output
    code, output = invoke("shadow", "status", "app", "--shadow", str(app.home / "shadow"))
    assert code == 1
    assert "different, key a: count a 3 / count a 2" in output


def test_either_side_can_be_explained(app: ShadowedApp) -> None:
    command(app.home, "run", "--from", "before", "--until-caught-up")
    for side, topology, value in (("old", "counting", "3"), ("new", "filtering", "2")):
        where = ("--checkpoint", str(app.home / "shadow" / side), "--data", f"{app.home}/topics")
        options = ("--topology", f"{MODULE}:{topology}", *where)
        code, output = invoke("explain", f"app-shadow-{side}", "counts", "a", *options)
        assert code == 0
        assert f"counts / a {value}" in output
        assert "events" in output


def test_cut_over_and_reverse_change_the_topology_of_the_app(app: ShadowedApp) -> None:
    command(app.home, "run", "--from", "before", "--until-caught-up")
    code, output = command(app.home, "cut-over")
    assert (code, "app continues with" in output) == (0, True)
    code, output = command(app.home, "cut-over", "--json")
    assert json.loads(output)["changed"] is False
    app.start(filtering())
    app.run([("a", 3)])
    code, output = command(app.home, "cut-over", "--reverse")
    assert code == 0
    app.start(counting())
    app.run([("a", 3)])
    assert app.results() == ["count a 1", "count a 3", "count a 3", "count a 5", "count b 1"]


def test_status_without_a_shadow_is_an_error(tmp_path: Path) -> None:
    code, output = invoke("shadow", "status", "app", "--shadow", str(tmp_path))
    assert code == 1
    assert "there is no shadow" in output
