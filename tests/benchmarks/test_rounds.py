"""Rounds with small processes in place of systems: order, checks, failures and time limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.suite.cluster import Cluster
from benchmarks.suite.dataset import DATA
from benchmarks.suite.outcome import Outcome
from benchmarks.suite.plan import Plan
from benchmarks.suite.registry import workload_by
from benchmarks.suite.rounds import Rounds
from tests.benchmarks.fake_peer import Copying

pytestmark = pytest.mark.kafka

W1, W2, W5 = workload_by("W1"), workload_by("W2"), workload_by("W5")
RECORDS = 200


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cache")) as running:
        yield running


class RecordingWatcher:
    """A watcher that records its calls; its clock advances by a minute for each run."""

    def __init__(self) -> None:
        self.runs = 0
        self.ended = 0
        self.steps: list[str] = []
        self.lines: list[str] = []

    def clock(self) -> float:
        return 60.0 * self.ended

    def begin(self, runs: int) -> None:
        self.runs = runs

    def step(self, title: str, total: int) -> Callable[[int], None]:
        self.steps.append(title)
        return lambda done: None

    def done(self) -> None:
        self.ended += 1

    def say(self, text: str) -> None:
        self.lines.append(text)


def run(plan: Plan, cluster: Cluster, cache: Path) -> tuple[Outcome, RecordingWatcher]:
    told = RecordingWatcher()
    outcome = Outcome({}, {}, {}, {})
    saved: list[int] = []

    def save() -> None:
        saved.append(len(outcome.cells))

    Rounds(plan, outcome, cluster, cache=cache, watcher=told, save=save, clock=told.clock).run()
    assert saved
    return outcome, told


def ran(told: RecordingWatcher) -> list[str]:
    """Return the peers in the order in which they ran."""
    return [title.split()[1].rstrip(",") for title in told.steps if ", round " in title]


def test_rounds_rotate_the_peers_and_keep_figures_of_checked_runs(
    cluster: Cluster, tmp_path: Path
) -> None:
    pairs = [(W1.of_partitions(3), Copying("a")), (W1.of_partitions(3), Copying("b"))]

    outcome, told = run(Plan(pairs, RECORDS, rounds=2, lag=False), cluster, tmp_path)

    assert ran(told) == ["a", "b", "b", "a"]
    assert told.runs == told.ended == 4
    for name in ("a", "b"):
        cell = outcome.cell("W1-3-partitions", name)
        assert cell.reason == ""
        assert [figures.records for figures in cell.rounds] == [RECORDS, RECORDS]
        for figures in cell.rounds:
            assert figures.rate > 0
            assert figures.progress[-1][1] == RECORDS + 3
    assert list(tmp_path.rglob("*.log")) == []
    assert all(topic.startswith((DATA, "__")) for topic in cluster.topics())


def test_rounds_give_a_reason_and_no_figures_for_failed_refused_and_missing_peers(
    cluster: Cluster, tmp_path: Path
) -> None:
    peers = [Copying(does, does) for does in ("wrong", "crash", "refuse", "miss", "copy")]
    plan = Plan([(W2, peer) for peer in peers], RECORDS, rounds=2, lag=False)

    outcome, told = run(plan, cluster, tmp_path)

    cells = {cell.peer: cell for cell in outcome.cells}
    assert "round 1 failed" in cells["wrong"].reason
    assert "with another value, such as" in cells["wrong"].reason
    assert "OSError: the disk is full" in cells["crash"].reason
    assert cells["refuse"].reason == "it never does"
    assert cells["miss"].reason == "not installed: no such compiler"
    assert [cell.peer for cell in outcome.cells if cell.rounds] == ["copy"]
    assert len(cells["copy"].rounds) == 2
    assert sorted(ran(told)) == ["copy", "copy", "crash", "wrong"]  # failed peers run only once
    assert told.runs == told.ended == 6
    assert len(list(tmp_path.rglob("*.log"))) == 2  # logs of the failed peers


def test_round_over_the_time_limit_is_skipped_with_a_note(cluster: Cluster, tmp_path: Path) -> None:
    plan = Plan([(W2, Copying("a"))], RECORDS, rounds=3, minutes=2.5, lag=False)

    outcome, told = run(plan, cluster, tmp_path)

    assert ran(told) == ["a", "a"]
    (note,) = outcome.notes
    assert note == "W2: 2 of 3 rounds were run: another would not have ended within 2.5 minutes"
    assert note in told.lines
    assert all(cell.reason == "" for cell in outcome.cells)


def test_first_round_over_the_time_limit_skips_remaining_peers_with_a_reason(
    cluster: Cluster, tmp_path: Path
) -> None:
    pairs = [(W2, Copying(name)) for name in "ab"]

    outcome, told = run(Plan(pairs, RECORDS, rounds=1, minutes=0.5, lag=False), cluster, tmp_path)

    assert ran(told) == ["a"]
    assert outcome.cell("W2", "b").reason == "round 1 not run: 0.5 minutes were over"
    assert told.runs == told.ended == 2


def test_workload_of_two_topics_fills_both_and_has_own_expected_results_for_spark(
    cluster: Cluster, tmp_path: Path
) -> None:
    pairs = [(W5, Copying(name)) for name in ("as-it-is", "spark")]

    outcome, told = run(Plan(pairs, 2_000, rounds=1, lag=False), cluster, tmp_path)

    assert [step for step in told.steps if step.startswith("fill ")] == [
        "fill bench-data-views-2000-seed7",
        "fill bench-data-users-2000-seed7",
    ]
    (figures,) = outcome.cell("W5", "as-it-is").rounds
    assert figures.records == 2_000 + 200 + 40
    assert figures.progress[-1][1] == figures.records + 2 * 4
    assert (
        "with another value" in outcome.cell("W5", "spark").reason
    )  # this peer did follow the moves
    assert outcome.notes == [
        "W5 spark: users as they are before the first view: it does not follow their moves"
    ]
