"""`kill -9` around what goes round in a loop, twenty times: each word counts once a round."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams import View
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state.log.directory import Directory
from tests.kill.app import COUNTS
from tests.kill.killed_app import KilledApp, by_word
from tests.kill.looping_app import HOPS

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(2_400)]

IN_TASKS = ("running", "written", "task-done")
IN_DRIVER = ("written", "all-done", "committed", "published")
PLAN = (
    *((target, phase) for target in ("driver", "jvm") for phase in IN_DRIVER),
    *((target, phase) for target in ("worker", "executor") for phase in 2 * IN_TASKS),
)
"""Between a loop's object and the delta, both and the commit, the commit and the next plan."""


class LoopingApp(KilledApp):
    """The app with a loop."""

    module = "tests.kill.looping_app"

    def expected(self) -> dict[str, list[int]]:
        """Return what the sink must hold: for each word all counts, rising one by one."""
        counted = super().expected()
        return {word: list(range(1, (HOPS + 1) * len(n) + 1)) for word, n in counted.items()}


def test_the_plan_is_twenty_kills() -> None:
    assert len(PLAN) == 20


def test_each_word_counts_once_a_round(tmp_path: Path, victims: list[KilledApp]) -> None:
    victims.append(killed_app := LoopingApp(tmp_path))
    killed_app.start()
    killed_app.advance()
    for target, phase in PLAN:
        kill = killed_app.strike(target, phase)
        print(kill, flush=True)  # noqa: T201  # the table of kills
        assert kill.spark_began > kill.spark_ended
    killed_app.finish()

    assert by_word(killed_app.results()) == killed_app.expected()
    place, log = tmp_path / "checkpoint", Directory(str(tmp_path / "log"))
    totals = {word: counts[-1] for word, counts in killed_app.expected().items()}
    with View(place, COUNTS, log=log) as view:
        assert dict(view.items()) == totals
    checkpoint = Checkpoint.load(place)
    (query,) = checkpoint.queries
    last = checkpoint.commits(query, log.open()).last()
    assert last is not None
    assert last.loops == ()
