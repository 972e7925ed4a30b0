"""The figures in `docs/comparison.md` are those of `benchmarks/RESULTS.md`."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PAGE = " ".join((_ROOT / "docs" / "comparison.md").read_text().split())
_RESULTS = (_ROOT / "benchmarks" / "RESULTS.md").read_text()


def rows(workload: str = "") -> list[list[str]]:
    """Return the cells of the rows of a workload, or of all workloads."""
    text = re.split(r"(?m)^## ", _RESULTS.split("\n## Peers")[0])
    parts = [part for part in text[1:] if part.startswith(workload)]
    found = re.findall(r"^\| ([a-z].*) \|$", "\n".join(parts), re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in found if row[:4] != "peer"]


def test_lags_on_comparison_page_equal_saved_results() -> None:
    (lag,) = [row[-1] for row in rows("W1:") if row[0] == "kstreams"]
    half, most = lag.split(" / ")

    assert f"within {half} ms, and 99 % within {most} ms" in _PAGE


def test_ratios_on_comparison_page_equal_saved_results() -> None:
    (running,) = [row[3] for row in rows("W2:") if row[0] == "kafka-streams"]
    flink = [float(row[3]) for row in rows() if row[0] == "flink-sql"]

    assert f"reached {float(running):.0%}".replace("%", " %") in _PAGE
    assert f"between {min(flink) * 100:.0f} % and {max(flink) * 100:.0f} %" in _PAGE


def test_times_to_first_result_on_comparison_page_equal_saved_results() -> None:
    named = {row[0] for row in rows() if row[0].startswith("kafka")}
    compared = [row for each in ("W1:", "W2:", "W3:", "W4:") for row in rows(each)]
    uncached = [row[5] for row in compared if row[0] == "kafka-streams-uncached"]
    ours = [row[5] for row in compared if row[0] == "kstreams"]

    assert named == {"kafka-streams", "kafka-streams-uncached"}
    sentence = f"after {min(uncached)} to {max(uncached)} seconds instead of {min(ours)}"
    assert f"{sentence} to {max(ours)}" in _PAGE
