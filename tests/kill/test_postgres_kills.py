"""`kill -9` of an app that writes to PostgreSQL: each result is there once."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.kill.kill_count import first_kills
from tests.kill.killed_app import KilledApp
from tests.kill.postgres_app import ADDRESS, TABLES, build
from tests.support.sinks.postgres_tables import Place

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(2_400)]

PLAN = (
    ("worker", "task-done"),
    ("driver", "all-done"),
    ("executor", "written"),
    ("driver", "committed"),
    ("worker", "written"),
    ("jvm", "all-done"),
    ("executor", "task-done"),
    ("driver", "written"),
    ("worker", "running"),
    ("jvm", "committed"),
)
"""Most kills between the database's commit and the batch's."""


class SinkingApp(KilledApp):
    """An app with results in PostgreSQL."""

    module = "tests.kill.postgres_app"
    build = staticmethod(build)


def test_postgres_has_each_result_once_after_kills(
    tmp_path: Path,
    database: str,
    victims: list[KilledApp],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ADDRESS, database)
    place = Place(database)
    for statement in TABLES:
        place.execute(statement)
    victims.append(killed_app := SinkingApp(tmp_path))
    killed_app.start()
    killed_app.advance()
    for target, phase in first_kills(PLAN, 2):
        print(killed_app.strike(target, phase), flush=True)  # noqa: T201  # the table of kills
    killed_app.emit(1)
    killed_app.finish()

    found: defaultdict[str, list[int]] = defaultdict(list)
    for word, total in place.rows("results"):
        found[word].append(total)
    assert dict(found) == killed_app.expected()
    assert dict(place.rows("totals")) == killed_app.expected_store()
    written = place.rows("writes")
    assert len(written) == len({*written})
