"""Every command with a checkpoint accepts a URL, for any storage with a registered scheme."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from kstreams import plugins
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams_cli.program import PROGRAM
from kstreams_serve.server import Server
from tests.support.apps.offline_app import (
    GONE,
    KEPT,
    LOG,
    ON_OBJECTS,
    TOPOLOGY,
    batch,
    contents,
    place,
    start,
)
from tests.support.cli.command_line import kstreams
from tests.support.storage.entry_point_store import offer

TOPOLOGY_OPTION = ("--topology", "tests.support.apps.offline_app:TOPOLOGY")
TOPOLOGY_NAME = "tests.support.apps.offline_app:TOPOLOGY"
SHADOWED = (*(TOPOLOGY_NAME,) * 2, "--app-id", "app", "--data", "topics", "--shadow", "shadow")
PAIRS = {f"k{n}": n for n in range(9)}
COMMANDS = {
    "state list": (["app"], "kept"),
    "state get": (["app", "kept", "k3"], "3"),
    "state scan": (["app", "kept"], "k8"),
    "state diff": (["app", "kept", "monday"], "0 changed rows"),
    "state export": (["app", "kept", "kept.json"], "Wrote kept.json"),
    "state verify": (["app"], "in"),
    "state savepoint": (["app", "tuesday"], "tuesday"),
    "state fork": (
        ["{app}@monday", "copy", "--source-log", "tests.support.apps.offline_app:LOG"],
        "copy",
    ),
    "state restore": (
        ["app", "--from-changelog", *TOPOLOGY_OPTION, "--data", "topics", "--yes"],
        "kept",
    ),
    "counts": (["app"], "node"),
    "explain": (["app", "kept", "k3"], "k3"),
    "trace": (["app", "in/0@0", *TOPOLOGY_OPTION, "--data", "topics"], "batch 1 of query"),
    "forecast": (["app"], "cost per day"),
    "health": (["app", "--data", "topics"], "healthy"),
    "pause": (["app"], "is paused since"),
    "resume": (["app"], "is not paused"),
    "plan": (
        ["tests.support.apps.offline_app:TOPOLOGY", "--app-id", "app", "--data", "topics"],
        "keep all state",
    ),
    "rescale": (
        ["tests.support.apps.offline_app:TOPOLOGY", "--app-id", "app", "--data", "topics"],
        "No store needs to be divided",
    ),
    "shadow run": (
        [*SHADOWED, "--from", "monday", "--until-caught-up"],
        "batches compared",
    ),
    "shadow cut-over": ([*SHADOWED], "there is no shadow"),
    "reset": (["app", "--yes"], "Reset app"),
    "serve": ([], "app at http"),
    "run": (
        ["tests.support.apps.offline_app:TOPOLOGY", "--data", "topics"],
        "embedded topics are for one machine",
    ),
}
"""The arguments of each command, and a part of its output. `run` stops at missing topics, and
`shadow cut-over` at the missing shadow."""
FAILS = {"run", "shadow cut-over"}


def taking_checkpoints() -> set[str]:
    """Return the commands that have an option or an argument for a checkpoint."""
    root: Any = typer.main.get_command(PROGRAM)
    context = typer.Context(root)

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[str]:
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))
        elif {each.name for each in command.params} & {"checkpoint", "checkpoints"}:
            yield " ".join(path)

    return set(walk(root, ()))


def test_table_of_tested_commands_has_each_command_that_opens_a_checkpoint() -> None:
    assert taking_checkpoints() == {*COMMANDS}


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of an app's checkpoint, with a batch and a savepoint."""
    monkeypatch.chdir(tmp_path)
    Path(ON_OBJECTS).touch()
    offer(monkeypatch)
    made = start()
    batch(made, TOPOLOGY, PAIRS)
    url = place("app")
    assert kstreams("state", "savepoint", "app", "monday", *where(url)).exit_code == 0
    yield url
    plugins._found.cache_clear()


def where(url: str) -> tuple[str, ...]:
    return ("--checkpoint", url, "--log", "tests.support.apps.offline_app:LOG")


@pytest.mark.parametrize("name", COMMANDS)
def test_command_accepts_a_checkpoint_url(
    name: str, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "run", lambda _, begun: begun())
    arguments, says = COMMANDS[name]
    options = {
        "serve": (app, "--log", "tests.support.apps.offline_app:LOG"),
        **dict.fromkeys(("run", "pause", "resume"), ("--checkpoint", app)),
        "state fork": where(place("copy")),
    }.get(name, where(app))
    found = kstreams(*name.split(), *(each.format(app=app) for each in arguments), *options)
    assert (found.exit_code == 0) == (name not in FAILS), found.output
    assert says in " ".join(found.output.split())
    assert not Path("app").exists()
    assert not Path(".kstreams").exists()
    if name == "state restore":
        assert contents("app", KEPT) == contents("app", GONE) == PAIRS
    if name == "reset":
        home = home_of(app)
        assert isinstance(home, ObjectHome)
        assert all(each.startswith("plans/") for each in home.objects.list(""))
        assert list(LOG.open().list("")) == []
    else:
        assert Checkpoint.load(home_of(app)).app == "app"
