"""The scale run: its runs, its calculations and its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.scale.arithmetic import costs_of
from benchmarks.scale.commits import CommitSize, commit_sizes
from benchmarks.scale.growth import Point
from benchmarks.scale.keys import names
from benchmarks.scale.many import ManyPartitions
from benchmarks.scale.outcome import GROWTH, MANY, RUNS, ManyCost, Scale, StateCost
from benchmarks.scale.page import END, begin, write_into
from benchmarks.scale.plots import plot
from benchmarks.scale.runs import CORES, EXECUTORS, NATIVE, pairs
from benchmarks.scale.tables import markdown
from benchmarks.suite.figures import Figures
from benchmarks.suite.outcome import Cell, Outcome
from benchmarks.suite.plan import batch_of
from tests.benchmarks.sample_outcomes import figures

MACHINE = {"cpu": "a cpu", "cores": 2, "python": "3.11", "load": 0.1, "load_after": 0.2}
RECORDS = 1_000_000
TASK_S, RECORD_S = 0.05, 4e-6


def costing(partitions: int) -> Figures:
    """Return the figures of a run whose costs are linear in the number of tasks."""
    batch = batch_of(RECORDS)
    cpu_s = partitions * TASK_S + batch * RECORD_S
    return replace(
        figures(RECORDS / partitions),
        records=RECORDS,
        cpu_s_per_million=cpu_s / batch * 1e6,
        peak_bytes=1_000_000_000 + partitions * 2_000_000,
        progress=[(float(n), n * batch) for n in range(1, 9)],
    )


def outcome() -> Outcome:
    two = CORES[2]
    rounds = {
        ("W1", CORES[1]): replace(costing(4), peak_bytes=costing(4).peak_bytes - 300_000_000),
        ("W1", two): costing(4),
        ("W1-1-partitions", two): costing(1),
        ("W1-64-partitions", two): costing(64),
        ("W1-1000000-keys", two): replace(costing(4), peak_bytes=1_200_000_000),
        ("W1-1000000-keys", NATIVE): replace(costing(4), peak_bytes=1_000_000_000),
    }
    cells = [Cell(*names, [found]) for names, found in rounds.items()]
    cells.append(Cell("W1", EXECUTORS, reason="round 1 failed: no such thing"))
    return Outcome(MACHINE, {"started": "today", "rounds": 1}, {}, {}, cells)


def state() -> StateCost:
    points = [
        Point(10_000, "same", [0.4, 0.5, 0.6], 0.7, 5.5, 200_000.0, 10**9),
        Point(10_000_000, "same", [0.55], 0.8, 5.5, 200_000.0, 10**9),
        Point(10_000, "drawn", [0.5], 0.7, 5.5, 200_000.0, 10**9),
        Point(10_000_000, "drawn", [0.75], 0.9, 5.5, 200_000.0, 10**9),
    ]
    return StateCost(MACHINE, points, [CommitSize(4, 2_000, 0.5), CommitSize(1_000, 400_000, 9)])


def test_scale_runs_pair_each_workload_once_with_peers_that_can_run_it() -> None:
    found = [(workload.label, peer.name) for workload, peer in pairs()]
    assert len(set(found)) == len(found)
    assert {("W1", CORES[1]), ("W1", CORES[2]), ("W1", EXECUTORS)} <= set(found)
    assert ("W1-64-partitions", CORES[2]) in found
    assert ("W1-1000000-keys", CORES[2]) in found
    assert ("W1-1000000-keys", NATIVE) in found
    assert [peer.refusal(workload) for workload, peer in pairs()] == [None] * len(found)


def test_batch_costs_are_fitted_to_a_straight_line() -> None:
    costs = costs_of(outcome())
    assert costs is not None
    assert costs.task_core_s == pytest.approx(TASK_S)
    assert costs.record_core_s == pytest.approx(RECORD_S)
    assert costs.partition_bytes == pytest.approx(2_000_000)
    assert costs.core_bytes == pytest.approx(300_000_000)
    assert costs.memory_bytes(partitions=10, cores=2) == pytest.approx(1_020_000_000)
    assert costs.memory_bytes(partitions=0, cores=4) == pytest.approx(1_600_000_000)
    # 1,000 tasks of 50 ms each 10 s are 5 cores, a million records of 4 us are 4
    assert costs.cores(1_000, 1_000_000, 10, busy=0.5) == pytest.approx(18)


def test_fit_of_costs_needs_runs_with_several_numbers_of_partitions() -> None:
    few = outcome()
    few.cells = [cell for cell in few.cells if "partitions" not in cell.workload]
    assert costs_of(few) is None
    assert "### 1,000 partitions" not in markdown(Scale(few, None))


def test_scale_report_has_runs_memory_state_and_conclusions() -> None:
    text = markdown(Scale(outcome(), state()))
    assert "| 2 cores, 64 partitions | 15,625 | 15,625 to 15,625 | 1.00 |" in text
    assert "- two executors of one core, separate processes: round 1 failed" in text
    assert "Memory with 1,000,000 keys: 1.20 times" in text
    assert "a batch took 1.00 s in the first third of the run and 1.00 s in the last" in text
    assert "| 10,000,000 | 550 | 550 to 550 | 1.10 | 800 | 5.5 | 200,000 | 1,000 |" in text
    assert "| 10,000,000 | 750 | 750 to 750 | 1.50 |" in text
    assert "| 10 | 1,000,000 | 13 | 4 | 2.1 | 1.42 M | 7.12 |" in text
    assert "| 1,000 | 400,000 | 9.0 |" in text


@pytest.mark.parametrize("part", [Scale(outcome(), None), Scale(None, state())])
def test_report_shows_only_sections_of_measured_parts(part: Scale) -> None:
    text = markdown(part)
    assert ("### State" in text) == (part.state is not None)
    assert ("### Cores" in text) == (part.runs is not None)


def test_scale_report_shows_saved_run_on_many_partitions(tmp_path: Path) -> None:
    run = ManyPartitions(
        partitions=1_000,
        records=20_000,
        first_s=12.34,
        batch_s=5.67,
        cpu_s=8.9,
        puts=1_142.4,
        restore_s=30.0,
        python_bytes=210_000_000,
        jvm_bytes=640_000_000,
        empty_s=7.25,
    )
    ManyCost(MACHINE, run).save(tmp_path / MANY)

    text = markdown(Scale.load(tmp_path))

    assert "### 1,000 partitions" in text
    assert "| a batch | 5.7 s |" in text
    assert "| objects written by a batch | 1,142 |" in text
    assert "a job of 1,000 empty Python tasks | 7.2 s |" in text
    assert "| peak memory of the driver's Python | 210 MB |" in text


def test_scale_plots_show_cores_partitions_keys_past_windows_and_state(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    made = plot(Scale(outcome(), state()), tmp_path)
    drawn = ["cores.png", "partitions.png", "keys.png", "past-windows.png", "state.png"]
    assert [path.name for path in made] == drawn
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in made)


@pytest.mark.long
def test_scale_command_with_again_replaces_only_the_measured_parts_of_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome().save(tmp_path / RUNS)
    state().save(tmp_path / GROWTH)
    assert Scale.load(tmp_path) == Scale(outcome(), state())
    page = tmp_path / "page.md"
    marks = [begin(name) for name in ("runs", "state", "many", "arithmetic")]
    page.write_text("before\n" + "".join(f"{mark}\nold\n{END}\nafter\n" for mark in marks))
    command = ["scale", "--again", str(tmp_path), "--into", str(page)]
    assert main(command) == 0
    first = page.read_text()
    assert main(command) == 0
    assert page.read_text() == first
    assert first.startswith(f"before\n{marks[0]}\n\n### Cores")
    assert first.endswith(f"{END}\nafter\n")
    assert f"{END}\nafter\n{marks[2]}\nold\n" in first  # this part was not run
    assert first.count("old") == 1
    assert "plots are in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        pytest.param(lambda folder: (folder / GROWTH).unlink(), "has no figures.json", id="none"),
        pytest.param(
            lambda folder: (folder / GROWTH).write_text("{}"), "no figures of a scale", id="other"
        ),
    ],
)
def test_scale_command_with_again_refuses_a_folder_without_figures(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], object],
    problem: str,
) -> None:
    state().save(tmp_path / GROWTH)
    spoil(tmp_path)
    assert main(["scale", "--again", str(tmp_path)]) == 2
    assert problem in capsys.readouterr().err


def test_page_with_misplaced_marks_is_refused_and_unchanged(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = f"{begin('runs')}{END}{END}{begin('many')}"
    page.write_text(text)
    with pytest.raises(ValueError, match="between which to write"):
        write_into(page, {"runs": "figures", "many": "figures"})
    assert page.read_text() == text


def test_generated_keys_are_distinct_and_evenly_spread() -> None:
    made = names(np.arange(100_000))
    assert len(set(made)) == 100_000
    shares = np.histogram([int(key[5:], 16) for key in made[:1_000]], 10, (0, 2**32))[0]
    assert shares.min() > 90
    assert names(np.array([7])) == made[7:8]


def test_commit_size_grows_with_the_tasks_that_have_a_pointer(tmp_path: Path) -> None:
    few, more, most = commit_sizes(tmp_path)
    assert [few.tasks, more.tasks, most.tasks] == [4, 64, 1_000]
    assert most.size_bytes / more.size_bytes == pytest.approx(1_000 / 64, rel=0.2)
    assert 200 < most.size_bytes / 1_000 < 5_000
    assert most.append_ms > 0
