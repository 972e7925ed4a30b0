"""Outcomes are saved in files, and become reports, comparisons and plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.suite.cluster import Cluster
from benchmarks.suite.compare import compared
from benchmarks.suite.outcome import Cell, Outcome
from benchmarks.suite.plots import plot
from benchmarks.suite.report import markdown
from benchmarks.suite.rounds import Rounds
from tests.benchmarks.sample_outcomes import figures, outcome


def test_saved_outcome_is_loaded_unchanged(tmp_path: Path) -> None:
    whole = outcome(100.0, 300.0)
    whole.save(tmp_path / "new" / "figures.json")
    assert Outcome.load(tmp_path / "new" / "figures.json") == whole


def test_load_refuses_a_json_file_that_is_not_an_outcome(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="no figures of this suite"):
        Outcome.load(tmp_path / "other.json")


def test_report_has_median_and_range_of_rates_and_dash_with_reason_for_missing_ones() -> None:
    text = markdown(outcome(100.0, 300.0, 250.0))
    assert "a cpu, 2 cores" in text
    shown = (
        "| kstreams | 250 | 100 to 300 | 1.00 | - | at-least-once | 1 s | memory | 10,000 | 2.0 |"
    )
    assert shown in text
    assert "100 / 250 |" in text
    assert "| other | - | - |" in text
    assert "- `other`: it has no windows" in text
    assert "- 2 of 3 rounds were run" in text


def test_report_shows_rates_as_share_of_the_limit() -> None:
    whole = outcome(100.0)
    whole.cells.append(Cell("W1", "limit", [figures(400.0)]))
    assert "| kstreams | 100 | 100 to 100 | 1.00 | 0.25 |" in markdown(whole)
    assert "| limit | 400 | 400 to 400 | 4.00 | 1.00 |" in markdown(whole)


def test_rate_is_not_compared_with_limit_of_too_short_run() -> None:
    whole = outcome(100.0)
    whole.cells.append(Cell("W1", "limit", [figures(400.0, 1_000)]))
    assert "| kstreams | 100 | 100 to 100 | 1.00 | - |" in markdown(whole)


def test_outcome_of_earlier_version_has_no_durability(tmp_path: Path) -> None:
    outcome(100.0).save(tmp_path / "figures.json")
    found = json.loads((tmp_path / "figures.json").read_text())
    del found["durability"]
    (tmp_path / "figures.json").write_text(json.dumps(found))
    loaded = Outcome.load(tmp_path / "figures.json")
    assert "| kstreams | 100 | 100 to 100 | 1.00 | - | - | - | - |" in markdown(loaded)


def test_comparison_shows_ratio_of_rates_or_word_within_if_their_ranges_overlap() -> None:
    lines = compared(outcome(100.0, 110.0), outcome(200.0, 220.0)).splitlines()
    assert lines[1].split() == ["W1", "kstreams", "105", "210", "2.00"]
    assert compared(outcome(100.0, 130.0), outcome(110.0)).splitlines()[1].endswith("within")


def test_commands_list_and_compare_print_workloads_and_ratios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome(100.0).save(tmp_path / "a.json")
    outcome(200.0).save(tmp_path / "b.json")
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 0
    assert "2.00" in capsys.readouterr().out
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert "NEXMark Q12" in listed
    assert "W6o  impressions and clicks" in listed
    assert main(["compare", str(tmp_path / "a.json"), str(tmp_path / "c.json")]) == 2
    assert main(["run", "--workload", "nothing"]) == 2
    assert "no workload 'nothing'" in capsys.readouterr().err


def test_plot_makes_one_image_each_by_workload_batch_size_and_number_of_keys(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    whole = outcome(100.0, 300.0)
    whole.workloads["W1-1000-keys"] = "tumbling count"
    whole.cells.append(Cell("W1-1000-keys", "quix", [figures(50.0)]))
    made = plot(whole, tmp_path)
    names = ["w1.png", "w1-batches.png", "w1-1000-keys.png", "w1-keys.png"]
    assert [path.name for path in made] == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in made)


def test_report_command_writes_page_with_plots_of_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    outcome(100.0).save(tmp_path / "run" / "figures.json")
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages" / "RESULTS.md"
    assert main(["report", str(tmp_path / "run" / "figures.json"), "--into", str(page)]) == 0
    assert "![W1](results/w1.png)" in page.read_text()
    assert [each.name for each in (tmp_path / "pages" / "results").iterdir()] == ["w1.png"]
    assert main(["report", str(tmp_path / "run" / "figures.json")]) == 0
    assert "![W1](./w1.png)" in (tmp_path / "run" / "report.md").read_text()


def test_interrupted_run_reports_finished_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(rounds: Rounds) -> None:
        rounds._outcome.cell("W1", "kstreams").rounds.append(figures(100.0))
        raise KeyboardInterrupt

    monkeypatch.setattr(Rounds, "run", interrupted)
    monkeypatch.setattr(Cluster, "__enter__", lambda cluster: cluster)
    monkeypatch.setattr(Cluster, "__exit__", lambda *_: None)
    assert main(["run", "--goals", "--cache", str(tmp_path), "--out", str(tmp_path / "run")]) == 130
    text = (tmp_path / "run" / "report.md").read_text()
    assert "- interrupted: what was measured until then" in text
    assert "| kstreams | 100 |" in text
    assert "python -m benchmarks run --goals --cache" in text
    assert main(["run", "--goals", "--keys", "5"]) == 2


def test_rate_of_run_shorter_than_warm_up_is_not_compared() -> None:
    whole = outcome(200.0)
    whole.cells[1] = Cell("W1", "other", [figures(200.0, 1_000)])
    text = markdown(whole)
    assert "| other | 200 | 200 to 200 | - | - | - | - | - | 1,000 |" in text
    assert "- `other`: timed for less than 20 s and 1,000,000 records: too short to be warm" in text
