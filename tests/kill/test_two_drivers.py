"""The older of two drivers on one checkpoint is fenced, logs the reason, and leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kill.killed_app import KilledApp, LoopingApp, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(900)]

TAKEN_OVER = "FencedError: checkpoint"
COMMITTED = "FencedError: batch"


@pytest.mark.parametrize(
    ("phase", "told", "app"),
    [("all-done", COMMITTED, LoopingApp), ("idle", TAKEN_OVER, KilledApp)],
    ids=["while it commits", "while it waits"],
)
def test_older_of_two_drivers_is_fenced_and_results_are_exact(
    tmp_path: Path, victims: list[KilledApp], phase: str, told: str, app: type[KilledApp]
) -> None:
    victims.append(killed_app := app(tmp_path))
    killed_app.start()
    killed_app.advance()
    if phase != "idle":
        killed_app.barriers.hold_only(phase, killed_app.driver)
        killed_app.emit()
        killed_app.wait(lambda: bool(killed_app.barriers.held(phase)), f"phase {phase}")

    older = killed_app.start_beside()
    killed_app.advance()
    if phase != "idle":
        killed_app.barriers.open(phase)
    killed_app.emit()
    killed_app.wait(lambda: older.poll() is not None, "the end of the older")

    assert older.returncode != 0
    assert told in (killed_app.folder / "output").read_text()
    killed_app.finish()
    assert by_word(killed_app.results()) == killed_app.expected()
