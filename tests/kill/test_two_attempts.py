"""Two concurrent attempts of one task in two executors; the losing one writes last."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from devtools.processes import alive, ancestor, kill
from tests.kill.killed_app import KilledApp, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(900)]

EXECUTOR = "CoarseGrainedExecutorBackend"


def test_uncommitted_attempt_of_a_task_that_writes_last_changes_no_result(
    tmp_path: Path, victims: list[KilledApp]
) -> None:
    """Spark repeats a stage when it loses shuffle files, and does not stop tasks that still run.

    Both tasks of a stage hang, one in each executor. Then one executor is killed: its shuffle files
    are gone, the stage begins again with both tasks, and the batch is committed without the attempt
    that hangs in the other executor. Only then this attempt continues. When it has written
    everything that a task writes, the driver is killed.
    """
    victims.append(killed_app := KilledApp(tmp_path))
    killed_app.start()
    for _ in range(2):
        killed_app.advance()

    killed_app.barriers.close("running")
    killed_app.emit()
    killed_app.wait(lambda: len(killed_app.barriers.held("running")) >= 2, "both tasks")
    loser, other = killed_app.barriers.held("running")[:2]
    assert ancestor(loser, EXECUTOR) != ancestor(other, EXECUTOR)
    batch = killed_app.committed() + 1
    killed_app.barriers.hold_only("running", loser)
    kill(ancestor(other, EXECUTOR))
    with suppress(ProcessLookupError):  # the worker may end with its executor
        kill(other)
    killed_app.wait(lambda: killed_app.committed() >= batch, "the winners' commit")
    winners = deltas(killed_app)
    assert alive(loser)

    killed_app.barriers.open("running")
    killed_app.wait(lambda: len(deltas(killed_app)) > len(winners), "the loser's state")
    (late,) = deltas(killed_app) - winners
    assert [d for d in winners if d.parent == late.parent and version(d) > version(late)] == []
    assert len([d for d in winners if d.parent == late.parent and version(d) == version(late)]) == 1
    kill(killed_app.driver)
    killed_app.await_driver()
    killed_app.start()
    killed_app.emit()
    killed_app.finish()

    assert by_word(killed_app.results()) == killed_app.expected()


def deltas(killed_app: KilledApp) -> set[Path]:
    """Return the deltas that attempts have written."""
    return {*(killed_app.folder / "log").rglob("*.delta")}


def version(delta: Path) -> int:
    """Return the version that a delta creates."""
    return int(delta.name.partition("-")[0])
