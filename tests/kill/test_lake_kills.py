"""`kill -9` of an app that writes to tables of Delta and Iceberg: each result is there once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.kill.kill_count import first_kills
from tests.kill.killed_app import KilledApp
from tests.kill.lake_app import PLACE, build, delta_in
from tests.support.sinks.delta_tables import rows_of as delta_rows
from tests.support.sinks.iceberg_catalogs import catalog_in
from tests.support.sinks.iceberg_catalogs import rows_of as iceberg_rows

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(2_400)]

PLAN = (
    ("driver", "committed"),
    ("worker", "task-done"),
    ("jvm", "committed"),
    ("executor", "written"),
    ("driver", "published"),
    ("driver", "all-done"),
    ("worker", "running"),
    ("jvm", "running"),
    ("executor", "task-done"),
    ("worker", "written"),
)
"""Many kills between staging and the commit of the table's version."""


class LakeApp(KilledApp):
    """An app with results in tables of Delta and Iceberg."""

    module = "tests.kill.lake_app"
    build = staticmethod(build)


def test_delta_and_iceberg_tables_have_each_result_once_after_kills(
    tmp_path: Path, victims: list[KilledApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    lakes = tmp_path / "lakes"
    catalog = catalog_in(lakes)
    monkeypatch.setenv(PLACE, str(lakes))
    victims.append(killed_app := LakeApp(tmp_path))
    killed_app.start()
    killed_app.advance()
    for target, phase in first_kills(PLAN, 2):
        print(killed_app.strike(target, phase), flush=True)  # noqa: T201  # the table of kills
    killed_app.emit(1)
    killed_app.finish()

    assert _counts(delta_rows(delta_in(lakes))) == killed_app.expected()
    assert _counts(iceberg_rows(catalog)) == killed_app.expected()
    assert [path for path in lakes.rglob("_kstreams/**/*") if path.is_file()] == []


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the counts of each word; files of a table have no order."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        found[row["word"]].append(row["total"])
    return {word: sorted(counts) for word, counts in found.items()}
