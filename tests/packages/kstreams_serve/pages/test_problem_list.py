"""Problems of an app are listed, the worst first; a healthy app has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kstreams.checkpoint.pause import Pause
from kstreams.ids import TaskId, TopicPartition
from kstreams.state.log.totals import NodeCounts, Totals
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.telemetry.unread import Unread
from kstreams_admin.status import QueryStatus
from kstreams_serve.pages.app_facts import AppFacts, AppStatus
from kstreams_serve.pages.ranking import worst_first

NOW = 10_000_000


def _facts(
    *,
    nodes: Mapping[str, NodeCounts] | None = None,
    lag: Mapping[int, int] | None = None,
    times: Mapping[int, int] | None = None,
    sizes: Mapping[int, int] | None = None,
    wall_ms: int = NOW,
    **more: Any,
) -> AppFacts:
    status = QueryStatus(
        "lines",
        7,
        wall_ms,
        Totals(nodes or {}),
        counted=True,
        positions={},
        state_bytes={TaskId("g", p): size for p, size in (sizes or {}).items()},
        metas={TaskId("g", p): TaskMeta(time) for p, time in (times or {}).items()},
    )
    found = {TopicPartition("t", p): Unread(0, left) for p, left in (lag or {}).items()}
    return AppFacts("app", AppStatus("running", "good"), [status], lag=found, **more)


def _problem_texts(facts: AppFacts, shares: Mapping[str, float] | None = None) -> list[str]:
    return [finding.text for finding in worst_first(facts, shares or {}, NOW)]


def test_healthy_app_has_no_problems() -> None:
    even = {0: 100, 1: 100, 2: 100}
    well = _facts(
        nodes={"count": NodeCounts(5, 5)},
        lag=even,
        times={0: NOW, 1: NOW - 9_000, 2: -1},
        sizes={0: 50_000_000, 1: 50_000_000},
    )
    assert _problem_texts(well, {"a": 0.3, "b": 0.3, "c": 0.4 - 1e-9}) == []


@pytest.mark.parametrize(
    ("facts", "shares", "text"),
    [
        (_facts(lag={0: 90, 1: 10}), {}, "Partition t/0 holds 90 % of the lag (90 of 100)"),
        (_facts(), {"a": 0.6, "b": 0.4}, "Node a takes 60 % of the processing time"),
        (
            _facts(nodes={"count": NodeCounts(10, 7, 0, {"late": 2, "null": 1})}),
            {},
            "Node count has dropped 2 late, 1 null (30 % of its input)",
        ),
        (
            _facts(times={0: NOW, 1: NOW - 42_000}),
            {},
            "Stream time of g/1 is 42 s behind the most advanced task of g",
        ),
        (
            _facts(sizes={0: 90_000_000, 1: 1_000_000, 2: 1_000_000}),
            {},
            "Task g/0 has 90 MB of state, 2.9 times the mean of its group",
        ),
        (
            _facts(lag={0: 5}, wall_ms=NOW - 120_000),
            {},
            "5 unread records, and no commit for 2 min 0 s",
        ),
    ],
)
def test_each_kind_of_problem_is_listed(
    facts: AppFacts, shares: dict[str, float], text: str
) -> None:
    assert _problem_texts(facts, shares) == [text]


def test_problem_list_begins_with_worst_problem_and_is_limited() -> None:
    lost = {f"node {n}": NodeCounts(100, 0, 0, {"late": n + 1}) for n in range(20)}
    found = worst_first(_facts(nodes=lost, lag={0: 1, 1: 99}), {"a": 0.9, "b": 0.1}, NOW)
    assert len(found) == 6
    assert found[0].text.startswith("Partition t/1")
    assert found[1].text.startswith("Node node 19")
    assert [each.weight for each in found] == sorted((f.weight for f in found), reverse=True)


def test_paused_app_has_no_problem_of_missing_commits() -> None:
    assert _problem_texts(_facts(lag={0: 5}, wall_ms=1, pause=Pause(1, "work"))) == []


def test_missing_heartbeat_is_the_first_problem() -> None:
    facts = AppFacts("app", AppStatus("not responding", "bad"))
    assert _problem_texts(facts) == ["The app is not responding"]
