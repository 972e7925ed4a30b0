"""Two concurrent attempts of one task in two executors; the losing one writes last."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.processes import alive, ancestor, kill
from tests.kill.killed_app import KilledApp, by_word
from tests.kill.test_speculation import Speculating

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(900)]

EXECUTOR = "CoarseGrainedExecutorBackend"


def test_writes_of_uncommitted_attempt_after_commit_do_not_change_results(
    tmp_path: Path, victims: list[KilledApp]
) -> None:
    """With speculation, a batch runs again without a slow worker, whose attempt is not stopped.

    Both tasks of a batch hang, one in each executor. Then one of them continues, the batch runs
    again in this executor, and is committed without the attempt that hangs in the other executor.
    Only then this attempt continues. When it has written everything that a task writes, the driver
    is killed.
    """
    victims.append(killed_app := Speculating(tmp_path))
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
    killed_app.wait(lambda: killed_app.committed() >= batch, "the winners' commit")
    winners = packs(killed_app, batch)
    assert winners
    assert alive(loser)

    killed_app.barriers.open("running")
    killed_app.wait(lambda: bool(packs(killed_app, batch) - winners), "the loser's state")
    kill(killed_app.driver)
    killed_app.await_driver()
    killed_app.start()
    killed_app.emit()
    killed_app.finish()

    assert by_word(killed_app.results()) == killed_app.expected()


def packs(killed_app: KilledApp, last: int) -> set[Path]:
    """Return the packs that attempts at batches up to `last` have written.

    On a slow machine, the attempt that hangs belongs to an earlier batch: a worker that starts
    slowly is left out of the first batches.
    """
    found = (killed_app.folder / "log").rglob("*.pack")
    return {pack for pack in found if int(pack.name.partition("-")[0]) <= last}
