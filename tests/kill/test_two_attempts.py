"""Two attempts of one task alive at once, in two executors; the loser writes last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.processes import alive, ancestor, kill
from tests.kill.victim import Victim, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(900)]

EXECUTOR = "CoarseGrainedExecutorBackend"


def test_a_loser_that_writes_last_changes_nothing(tmp_path: Path, victims: list[Victim]) -> None:
    """
    Spark begins a stage anew when it loses shuffle files, and leaves tasks that still run.

    Both tasks of a stage hang, one in each executor. Then one executor is killed: its
    shuffle files are gone, the stage begins anew with both tasks, and the batch is
    committed without the attempt that hangs in the other executor. That one is let go on
    only then, and once it has written all that a task writes, the driver is killed.
    """
    victims.append(victim := Victim(tmp_path))
    victim.start()
    for _ in range(2):
        victim.advance()

    victim.gates.close("running")
    victim.emit()
    victim.wait(lambda: len(victim.gates.held("running")) >= 2, "both tasks")
    loser, other = victim.gates.held("running")[:2]
    assert ancestor(loser, EXECUTOR) != ancestor(other, EXECUTOR)
    batch = victim.committed() + 1
    victim.gates.hold_only("running", loser)
    kill(ancestor(other, EXECUTOR))
    kill(other)
    victim.wait(lambda: victim.committed() >= batch, "the winners' commit")
    winners = deltas(victim)
    assert alive(loser)

    victim.gates.open("running")
    victim.wait(lambda: len(deltas(victim)) > len(winners), "the loser's state")
    (late,) = deltas(victim) - winners
    assert [d for d in winners if d.parent == late.parent and version(d) > version(late)] == []
    assert len([d for d in winners if d.parent == late.parent and version(d) == version(late)]) == 1
    kill(victim.driver)
    victim.await_driver()
    victim.start()
    victim.emit()
    victim.finish()

    assert by_word(victim.results()) == victim.expected()


def deltas(victim: Victim) -> set[Path]:
    """Return what attempts have written of their tasks' states."""
    return {*(victim.folder / "log").rglob("*.delta")}


def version(delta: Path) -> int:
    """Return the number of the version that a delta makes."""
    return int(delta.name.partition("-")[0])
