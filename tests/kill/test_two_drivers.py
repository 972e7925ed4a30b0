"""Of two drivers on one checkpoint the older is fenced, says so, and leaves no trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kill.victim import Victim, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(900)]

TAKEN_OVER = "FencedError: checkpoint"
COMMITTED = "FencedError: batch"


@pytest.mark.parametrize(
    ("phase", "told"),
    [("all-done", COMMITTED), ("idle", TAKEN_OVER)],
    ids=["while it commits", "while it waits"],
)
def test_the_older_driver_is_fenced(
    tmp_path: Path, victims: list[Victim], phase: str, told: str
) -> None:
    victims.append(victim := Victim(tmp_path))
    victim.start()
    victim.advance()
    if phase != "idle":
        victim.gates.hold_only(phase, victim.driver)
        victim.emit()
        victim.wait(lambda: bool(victim.gates.held(phase)), f"phase {phase}")

    older = victim.start_beside()
    victim.advance()
    if phase != "idle":
        victim.gates.open(phase)
    victim.emit()
    victim.wait(lambda: older.poll() is not None, "the end of the older")

    assert older.returncode != 0
    assert told in (victim.folder / "output").read_text()
    victim.finish()
    assert by_word(victim.results()) == victim.expected()
