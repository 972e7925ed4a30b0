"""`kill -9` of an app that reads files: each line counts once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.kill.files_app import build
from tests.kill.kill_count import first_kills
from tests.kill.killed_app import KilledApp, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(2_400)]

PLAN = (
    ("driver", "running"),
    ("worker", "task-done"),
    ("executor", "running"),
    ("jvm", "all-done"),
    ("driver", "committed"),
)


class FilingApp(KilledApp):
    """An app that reads a folder."""

    module = "tests.kill.files_app"
    build = staticmethod(build)

    def append(self, texts: Sequence[str]) -> None:
        place = self.folder / "in"
        place.mkdir(exist_ok=True)
        unfinished = place / f"{self._emitted:09}.txt.part"
        unfinished.write_text("".join(f"{text}\n" for text in texts))
        unfinished.rename(unfinished.with_suffix(""))


def test_each_line_of_files_counts_once_after_kills(
    tmp_path: Path, victims: list[KilledApp]
) -> None:
    victims.append(killed_app := FilingApp(tmp_path))
    (tmp_path / "in").mkdir()
    killed_app.start()
    killed_app.advance()
    for target, phase in first_kills(PLAN, few=1):
        print(killed_app.strike(target, phase), flush=True)  # noqa: T201  # the table of kills
    killed_app.emit(1)
    killed_app.finish()
    assert by_word(killed_app.results()) == killed_app.expected()
