"""A changed parameter is rejected if rows would be misread, and otherwise works as documented."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kstreams import Topology
from kstreams.errors import CheckpointMismatchError
from kstreams.parameters import MAY_CHANGE, changes
from tests.kstreams.checkpoint.allowed_parameters import ALLOWED
from tests.kstreams.checkpoint.refused_parameters import BY_NAME, MINUTE, REFUSED
from tests.kstreams.checkpoint.upgrade_topologies import (
    Row,
    feed,
    results,
    started,
)

BEFORE: list[Row] = [(1_000, "a", 3), (2_000, "a", 5), (65_000, "a", 1)]
AFTER: list[Row] = [(66_000, "a", 7), (10 * 24 * 60 * MINUTE, "b", 1)]


@pytest.mark.parametrize(
    ("first", "second", "detail"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_upgrade_rejects_parameter_change_that_would_misread_stored_rows(
    tmp_path: Path, first: Topology, second: Topology, detail: str
) -> None:
    query = started(tmp_path / "changed", first, BEFORE)
    with pytest.raises(CheckpointMismatchError) as caught:
        query.upgrade(second)
    assert f"store 's' would be misread: {detail} (" in caught.value.message
    assert "reset={'s'}" in caught.value.message
    query.upgrade(first)
    feed(query, AFTER)
    control = started(tmp_path / "control", first, BEFORE)
    feed(control, AFTER)
    assert results(query) == results(control)


@pytest.mark.parametrize(
    "name", ["tumbling-size", "sliding-difference", "session-gap", "aggregator", "windowed-keys"]
)
def test_upgrade_with_reset_empties_store_and_records_new_parameter(
    tmp_path: Path, name: str
) -> None:
    _, first, second, _ = BY_NAME[name]
    query = started(tmp_path / "changed", first, BEFORE)
    before = len(results(query))
    query.upgrade(second, reset={"s"})
    feed(query, AFTER)
    fresh = started(tmp_path / "fresh", second, AFTER)
    assert results(query)[before:] == results(fresh)


@pytest.mark.parametrize("name", ALLOWED)
def test_upgrade_accepts_harmless_parameter_change_with_note_and_keeps_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    case = ALLOWED[name]
    query = started(tmp_path, case.first, case.before, case.right)
    before = len(results(query))
    with caplog.at_level(logging.INFO, "kstreams.checkpoint.start.upgrade"):
        query.upgrade(case.second)
    lines = [record.getMessage().removeprefix("upgrade of whole: ") for record in caplog.records]
    assert "store 's': same: keep" in lines
    assert case.note in lines
    feed(query, case.after, case.right_after)
    assert results(query)[before:] == list(case.expected)


def test_each_recorded_parameter_has_an_upgrade_test_case() -> None:
    refused = {name for _, *pair, _ in REFUSED for name in _changed(*pair)}
    allowed = {name for case in ALLOWED.values() for name in _changed(case.first, case.second)}
    topologies = [t for _, *pair, _ in REFUSED for t in pair]
    topologies += [t for case in ALLOWED.values() for t in (case.first, case.second)]
    recorded = {name for topology in topologies for name in _parameters(topology)}
    assert allowed == {*MAY_CHANGE}
    assert refused == recorded - allowed - {"key.windows", "windows.length_ms"}


def _changed(first: Topology, second: Topology) -> set[str]:
    return {name for name, _, _ in changes(_parameters(first), _parameters(second))}


def _parameters(topology: Topology) -> dict[str, Any]:
    own = topology.groups[-1].parameters()
    return {name: value for store in own.values() for name, value in store.items()}
