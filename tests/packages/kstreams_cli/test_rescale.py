"""`kstreams rescale`: divides the state of a stopped app, or shows the effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kstreams.checkpoint.storage.named_home import home_of
from kstreams_cli.program import PROGRAM
from tests.support.apps.rescaled_app import Event, RescaledApp, counting, keeping

KEYS = [f"k{number}" for number in range(12)]
FIRST: list[Event] = [("events", key, 1, time) for time, key in enumerate(KEYS)]
MODULE = "tests.support.apps.rescaled_app"


def command(home: Path, topology: str, *options: str, name: str = "rescale") -> tuple[int, str]:
    where = ("--checkpoint", str(home / "app"), "--data", str(home / "topics"))
    arguments = [name, f"{MODULE}:{topology}", *where, *options]
    found = CliRunner().invoke(PROGRAM, arguments, env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, " ".join(found.output.split())


def grown(home: Path) -> RescaledApp:
    app = RescaledApp(home, counting(), 2)
    app.run(FIRST)
    app.grow(5)
    return app


def test_rescale_divides_state_and_app_continues(tmp_path: Path) -> None:
    app = grown(tmp_path)
    code, output = command(tmp_path, "counting", "--partitions", "5")
    assert code == 0
    assert "store 'count' of group 'events': 2 partitions to 5, 12 rows" in output
    assert "Rescaled app; tasks by group: events: 5." in output
    app.start()
    app.run(FIRST)
    expected = [f"count {key} {number}" for key in KEYS for number in (1, 2)]
    assert sorted(app.results().elements()) == sorted(expected)


def test_rescale_dry_run_shows_rows_and_changes_nothing(tmp_path: Path) -> None:
    grown(tmp_path)
    before = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "app").rglob("*"))
    code, output = command(tmp_path, "counting", "--dry-run", "--json")
    shown = json.loads(output)
    assert (code, shown["applied"], shown["problems"]) == (0, False, [])
    (store,) = shown["stores"]
    assert (store["store"], store["before"], store["now"], store["rows"]) == ("count", 2, 5, 12)
    assert 0 < store["moved"] < 12
    assert shown["state_bytes"]["events"] > 0
    assert sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "app").rglob("*")) == before


def test_second_rescale_has_nothing_to_do(tmp_path: Path) -> None:
    grown(tmp_path)
    assert command(tmp_path, "counting")[0] == 0
    code, output = command(tmp_path, "counting")
    assert (code, "No store needs to be divided." in output) == (0, True)


def test_rescale_of_running_app_fails(tmp_path: Path) -> None:
    grown(tmp_path)
    lock = home_of(tmp_path / "app").lock()
    lock.acquire()
    try:
        code, output = command(tmp_path, "counting")
    finally:
        lock.release()
    assert (code, "AppLockedError" in output) == (1, True)


def test_rescale_with_unexpected_partition_count_fails(tmp_path: Path) -> None:
    grown(tmp_path)
    code, output = command(tmp_path, "counting", "--partitions", "4")
    assert (code, "expected 4 partitions, but group 'events' has 5" in output) == (1, True)


def test_rescale_with_changed_topology_fails(tmp_path: Path) -> None:
    grown(tmp_path)
    code, output = command(tmp_path, "keeping")
    assert (code, "is not the one that app 'app' ran last" in output) == (1, True)


@pytest.mark.parametrize("named", [False, True], ids=["not named", "named"])
def test_rescale_requires_names_of_stores_of_custom_processors(tmp_path: Path, named: bool) -> None:
    app = RescaledApp(tmp_path, keeping(), 2)
    app.run(FIRST)
    app.grow(3)
    options = ("--by-key", "kept", "--by-key", "seen") if named else ()
    code, output = command(tmp_path, "keeping", *options)
    assert code == (0 if named else 1)
    assert ("nothing was changed" in output) is not named


def test_rescale_with_unread_records_requires_the_option(tmp_path: Path) -> None:
    app = grown(tmp_path)
    app.write(FIRST)
    code, output = command(tmp_path, "counting")
    assert (code, "unread in old partitions" in output) == (1, True)
    assert command(tmp_path, "counting", "--allow-unread")[0] == 0


def test_plan_shows_division_that_start_with_same_option_makes(tmp_path: Path) -> None:
    grown(tmp_path)
    code, output = command(tmp_path, "counting", name="plan")
    assert code == 1
    assert "kstreams rescale" in output
    option = ("--on-more-partitions", "rescale")
    code, output = command(tmp_path, "counting", *option, name="plan")
    assert code == 3
    assert "2 partitions before, now 5" in output
    assert "divide" in output
    code, output = command(tmp_path, "counting", *option, "--json", name="plan")
    (store,) = json.loads(output)["stores"]
    assert (code, store["change"], store["action"]) == (3, "rescaled", "divide")
    settings = ("--engine", "embedded", "--until", "end")
    code, _ = command(tmp_path, "counting", *option, *settings, name="run")
    assert code == 0
    assert command(tmp_path, "counting", name="plan")[0] == 0
