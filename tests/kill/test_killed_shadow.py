"""`kill -9` at the effects of a shadow: no result is lost, repeated or compared twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from kstreams_cli.verification import Verification
from kstreams_shadow.cut_over import cut_over
from kstreams_shadow.shadow_home import Side
from tests.kill.file_system_effects import in_process, killed_at
from tests.support.apps.shadowed_app import ShadowedApp, counting, filtering, follow, tallies

pytestmark = [pytest.mark.kill, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(900)]

STRIDE = 23
LEAST_EFFECTS = 20
BEFORE = ["count a 1", "count a 3", "count b 1", "count b 2", "count c 1", "count d 1"]


def prepare() -> None:
    app = ShadowedApp(Path(), counting())
    app.run([("a", 1), ("b", 0)])
    app.savepoint()
    app.run([("a", 0), ("a", 2), ("c", 1)], [("b", 3), ("d", 0)])


def prepare_followed() -> None:
    prepare()
    run()


def prepare_replaced() -> None:
    prepare_followed()
    replace_app("new")
    app = ShadowedApp(Path(), filtering())
    app.run([("a", 0), ("b", 4)])


def run() -> None:
    with ShadowedApp(Path(), counting()).shadow(filtering(), "before") as shadow:
        follow(shadow)
        shadow.compare_stores()


def replace_app(side: Side) -> None:
    with ShadowedApp(Path(), counting()).shadow(filtering(), "before") as shadow:
        cut_over(shadow, side)


def check_run() -> None:
    run()
    app = ShadowedApp(Path(), counting())
    with app.shadow(filtering()) as shadow:
        (sink,) = shadow.report.sinks
        expected = {"equal": 2, "different": 1, "only_old": 1, "only_new": 0}
        assert tallies(shadow) == {sink: expected, "counts": expected}
        assert shadow.report.batches == 2
    assert app.results() == BEFORE
    assert list((app.home / "shadow" / "results").rglob("*.arrow")) == []


def check_replaced() -> None:
    replace_app("new")
    app = ShadowedApp(Path(), filtering())
    app.run([("a", 0), ("b", 4)])
    assert app.results() == sorted([*BEFORE, "count b 3"])
    verify(app)


def check_reversed() -> None:
    replace_app("old")
    app = ShadowedApp(Path(), counting())
    app.run([("a", 1)])
    assert app.results() == sorted([*BEFORE, "count a 5", "count b 3"])
    verify(app)


def verify(app: ShadowedApp) -> None:
    made = app.checkpoint()
    found = Verification(made, made.log.open())
    list(found.parts())
    assert (found.problems, found.strays) == ({}, [])


@pytest.mark.parametrize(
    ("before", "work", "check"),
    [
        pytest.param(prepare, run, check_run, id="run"),
        pytest.param(prepare_followed, partial(replace_app, "new"), check_replaced, id="cut-over"),
        pytest.param(prepare_replaced, partial(replace_app, "old"), check_reversed, id="reverse"),
    ],
)
def test_shadow_killed_at_any_side_effect_can_be_repeated(
    tmp_path: Path,
    before: Callable[[], None],
    work: Callable[[], None],
    check: Callable[[], None],
) -> None:
    base = tmp_path / "base"
    base.mkdir()
    in_process(base, before)
    for effect in count(0, STRIDE):
        home = tmp_path / str(effect)
        shutil.copytree(base, home, symlinks=True)
        killed = killed_at(effect, home, work)
        in_process(home, check)
        shutil.rmtree(home)
        if not killed:
            assert effect >= LEAST_EFFECTS
            break
