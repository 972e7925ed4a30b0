"""`kstreams forecast`: its text and JSON output."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.apps.stepped_app import ByHand
from tests.support.cli.command_line import kstreams, say
from tests.support.topologies import explained_topologies as made

WHERE = ("--checkpoint", "doubled")


@pytest.fixture
def app() -> ByHand:
    return ByHand(Path.cwd(), made.doubled(), retained_batches=10)


def run(app: ByHand, batches: int) -> None:
    for number in range(batches):
        app.clock.advance(timedelta(seconds=10))
        app.emit(made.EVENTS, ("a", number))
        app.run()


def test_forecast_shows_requests_costs_growth_and_restore_times(app: ByHand) -> None:
    run(app, 5)
    found = json.loads(say("forecast", "doubled", "--json", "--put-price", "1000", *WHERE))
    (query,) = found["queries"]
    assert (query["interval_ms"], query["puts_a_batch"]) == (10_000, 2)
    assert query["puts_a_day"] == 2 * 8_640
    assert found["dollars_a_day"]["puts_a_day"] == pytest.approx(2 * 8_640)
    (task,) = query["tasks"]
    assert task["restore_seconds"] == task["bytes"] / found["restore_bytes_a_second"]
    slow = json.loads(say("forecast", "doubled", "--json", "--trigger", "20s", *WHERE))
    assert slow["queries"][0]["puts_a_day"] == pytest.approx(8_640, rel=0.2)
    text = say("forecast", "doubled", *WHERE)
    assert "17,280" in text
    assert "cost per day on S3: $0.09 for PUT" in text


def test_forecast_refuses_too_few_commits_and_invalid_options(app: ByHand) -> None:
    run(app, 1)
    found = kstreams("forecast", "doubled", *WHERE)
    assert found.exit_code == 1
    assert "needs two retained commits to measure" in found.stderr
    assert kstreams("forecast", "doubled", "--trigger", "soon", *WHERE).exit_code == 2
    assert kstreams("forecast", "doubled", "--put-price", "-1", *WHERE).exit_code == 2
