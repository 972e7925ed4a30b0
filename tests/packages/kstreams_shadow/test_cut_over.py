"""A cut-over makes a replica the app: no result is lost or repeated, and it can be reversed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import AppLockedError, CheckpointMismatchError
from kstreams_cli.verification import Verification
from kstreams_shadow.cut_over import cut_over
from tests.support.apps.shadowed_app import (
    ShadowedApp,
    by_value,
    counting,
    filtering,
    follow,
    louder,
)

FIRST = [("a", 1), ("b", 0)]


def verified(checkpoint: Checkpoint) -> None:
    found = Verification(checkpoint, checkpoint.log.open())
    list(found.parts())
    assert (found.problems, found.strays) == ({}, [])


def test_cut_over_continues_with_state_of_the_changed_topology(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    app.run([("a", 0), ("a", 2)])
    with app.shadow(filtering(), "before") as shadow:
        done = cut_over(shadow, "new")
        assert (done.side, done.changed) == ("new", True)
    app.start(filtering())
    app.run([("a", 3)])
    # The count of a is 2 after the filter, not 3 as in the old topology.
    assert app.results() == ["count a 1", "count a 3", "count a 3", "count b 1"]
    verified(app.checkpoint())


def test_repeated_cut_over_changes_nothing(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    with app.shadow(louder(), "before") as shadow:
        assert cut_over(shadow, "new").changed
        made = app.checkpoint()
        assert not cut_over(shadow, "new").changed
        assert app.checkpoint() == made


def test_reversed_cut_over_continues_with_state_of_the_old_topology(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    with app.shadow(filtering(), "before") as shadow:
        cut_over(shadow, "new")
        app.start(filtering())
        app.run([("a", 0), ("a", 2)])
        follow(shadow)
        assert cut_over(shadow, "old").changed
    app.start(counting())
    app.run([("a", 1)])
    assert app.results() == ["count a 1", "count a 2", "count a 4", "count b 1"]
    verified(app.checkpoint())


def test_cut_over_to_other_groups_and_stores_continues_exactly_once(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    app.run([("a", 1)])
    new = by_value()
    with app.shadow(new, "before", reset=frozenset({"counts"})) as shadow:
        cut_over(shadow, "new")
    app.start(new)
    app.run([("x", 1)])
    app.run([("y", 1)])
    counts = ["count a 1", "count a 2", "count b 1", "count v1 2", "count v1 3"]
    assert app.results() == counts
    verified(app.checkpoint())


def test_cut_over_of_a_running_app_is_rejected(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    before = app.checkpoint()
    lock = before.home.lock()
    lock.acquire()
    with app.shadow(louder(), "before") as shadow, pytest.raises(AppLockedError):
        cut_over(shadow, "new")
    lock.release()
    assert app.checkpoint() == before


def test_cut_over_after_an_upgrade_of_the_app_is_rejected(tmp_path: Path) -> None:
    app = ShadowedApp(tmp_path, counting())
    app.run(FIRST)
    app.savepoint()
    with app.shadow(louder(), "before") as shadow:
        follow(shadow)
        made = app.checkpoint()
        replace(made, begun=dict.fromkeys(made.begun, "0" * 64)).save()
        with pytest.raises(CheckpointMismatchError, match="was upgraded or rescaled"):
            cut_over(shadow, "new")
