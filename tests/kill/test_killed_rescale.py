"""`kill -9` at the effects of `kstreams rescale`: the app is as before, or divided; never both."""

from __future__ import annotations

import shutil
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams_cli.program import PROGRAM
from kstreams_cli.verification import Verification
from tests.kill.file_system_effects import in_process, killed_at
from tests.support.apps.rescaled_app import Event, RescaledApp, counting

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(300)]

KEYS = [f"k{number}" for number in range(12)]
FIRST: list[Event] = [("events", key, 1, time) for time, key in enumerate(KEYS)]
BEFORE, NOW = 2, 5
LEAST_EFFECTS = 10


def prepare() -> None:
    app = RescaledApp(Path(), counting(), BEFORE)
    app.run(FIRST)
    app.grow(NOW)


def rescale() -> None:
    options = ("--checkpoint", "app", "--data", "topics")
    command = ("rescale", "tests.support.apps.rescaled_app:counting", *options)
    found = CliRunner().invoke(PROGRAM, list(command))
    assert found.exit_code == 0, found.output


def tasks() -> int:
    return Checkpoint.load(home_of("app")).tasks["events"]


def recover(killed: bool) -> None:
    assert tasks() in (BEFORE, NOW)
    if not killed:
        assert tasks() == NOW
    rescale()
    app = RescaledApp(Path(), counting(), NOW)
    app.run(FIRST)
    expected = [f"count {key} {number}" for key in KEYS for number in (1, 2)]
    assert sorted(app.results().elements()) == sorted(expected)
    made = Checkpoint.load(home_of("app"))
    found = Verification(made, made.log.open())
    list(found.parts())
    assert (found.problems, found.strays) == ({}, [])


@pytest.mark.long
def test_rescale_killed_at_any_side_effect_can_be_repeated(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    in_process(base, prepare)
    for effect in count(0, 7):
        home = tmp_path / str(effect)
        shutil.copytree(base, home, symlinks=True)
        killed = killed_at(effect, home, rescale)
        in_process(home, partial(recover, killed))
        shutil.rmtree(home)
        if not killed:
            assert effect >= LEAST_EFFECTS
            break
