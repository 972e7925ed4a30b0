"""The shipped alert rules and dashboard use existing metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kstreams_serve.exposition import exposition
from kstreams_serve.metrics import METRICS
from tests.packages.kstreams_serve.test_metrics import committed, watched, with_telemetry

FOLDER = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = FOLDER / "kstreams.rules.yml"
_NAME = re.compile(r"\bkstreams_[a-z_]+")
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not here: Debian's prometheus has it"
)


def rules() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    return found


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "kstreams.dashboard.json").read_text())[
        "panels"
    ]
    return found


def queries() -> list[str]:
    """Return the expressions of all panels, as Grafana sends them."""
    found = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [each.replace("$app", "shop") for each in found]


def test_alert_rules_and_dashboard_panels_use_existing_metrics() -> None:
    texts = [*(rule["expr"] for rule in rules()), *queries()]
    asked = {name for text in texts for name in _NAME.findall(text)}
    series = {
        f"{name}{end}"
        for name, (kind, _) in METRICS.items()
        for end in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
    }
    assert asked <= series


def test_dashboard_panels_show_all_metrics_of_sources() -> None:
    shown = {name for query in queries() for name in _NAME.findall(query)}
    of_sources = {name for name in METRICS if name.startswith("kstreams_source_")}
    # the same in seconds as `kstreams_source_lag_seconds`
    assert of_sources - shown == {"kstreams_source_oldest_unread_timestamp_seconds"}


def test_each_alert_has_a_section_in_the_runbook() -> None:
    page = (FOLDER.parents[1] / "docs" / "operations.md").read_text()
    runbook = page.partition("### When an alert fires")[2]
    sections = {
        name: text for name, _, text in (s.partition("\n") for s in runbook.split("\n#### ")[1:])
    }
    assert sorted(sections) == sorted(rule["alert"] for rule in rules())
    for name, text in sections.items():
        means, *steps = text.strip().split("\n- ")
        assert len(means) > 40, name
        assert steps, f"{name}: what to do?"


def test_panels_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len({*places}) == len(places) == len({panel["id"] for panel in panels()})


@needs_promtool
def test_promtool_accepts_rules_and_queries(tmp_path: Path) -> None:
    """Rules fire as their tests expect, and each panel's query is valid."""
    named = [
        {"record": f"panel:query{number}:asked", "expr": query}
        for number, query in enumerate(queries())
    ]
    asked = tmp_path / "panels.yml"
    asked.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": named}]}))
    for command in (
        ("check", "rules", str(RULES), str(asked)),
        ("test", "rules", str(FOLDER / "kstreams.rules.test.yml")),
    ):
        ran = subprocess.run(
            ["promtool", *command], capture_output=True, text=True, check=False, cwd=FOLDER
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_promtool
def test_promtool_accepts_exposed_metrics(tmp_path: Path) -> None:
    committed(tmp_path)
    with_telemetry(tmp_path, written_ms=9_000)
    text = exposition(watched(tmp_path), openmetrics=False)
    ran = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
