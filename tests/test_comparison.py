"""The figures in `docs/comparison.md` are those of `benchmarks/RESULTS.md`."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PAGE = " ".join((_ROOT / "docs" / "comparison.md").read_text().split())
_RESULTS = (_ROOT / "benchmarks" / "RESULTS.md").read_text()


def rows(workload: str = "") -> list[dict[str, str]]:
    """Return the rows of a workload, or of all workloads: cells by the head of their column."""
    text = re.split(r"(?m)^## ", _RESULTS.split("\n## Peers")[0])
    parts = [part for part in text[1:] if part.startswith(workload)]
    lines = re.findall(r"^\| ([a-z].*) \|$", "\n".join(parts), re.MULTILINE)
    heads, *found = [[cell.strip() for cell in line.split(" | ")] for line in lines]
    return [dict(zip(heads, row, strict=True)) for row in found if row != heads]


def test_lags_on_comparison_page_equal_saved_results() -> None:
    (lag,) = [row["lag p50 / p99 ms"] for row in rows("W1:") if row["peer"] == "kstreams"]
    half, most = lag.split(" / ")

    assert f"within {half} ms, and 99 % within {most} ms" in _PAGE


def test_ratios_on_comparison_page_equal_saved_results() -> None:
    (running,) = [row["of the first"] for row in rows("W2:") if row["peer"] == "kafka-streams"]
    flink = [float(row["of the first"]) for row in rows() if row["peer"] == "flink-sql"]

    assert f"reached {float(running):.0%}".replace("%", " %") in _PAGE
    assert f"between {min(flink) * 100:.0f} % and {max(flink) * 100:.0f} %" in _PAGE


def test_times_to_first_result_on_comparison_page_equal_saved_results() -> None:
    named = {row["peer"] for row in rows() if row["peer"].startswith("kafka")}
    compared = [row for each in ("W1:", "W2:", "W3:", "W4:") for row in rows(each)]
    uncached = [
        row["first result s"] for row in compared if row["peer"] == "kafka-streams-uncached"
    ]
    ours = [row["first result s"] for row in compared if row["peer"] == "kstreams"]

    assert named == {"kafka-streams", "kafka-streams-uncached"}
    sentence = f"after {min(uncached)} to {max(uncached)} seconds instead of {min(ours)}"
    assert f"{sentence} to {max(ours)}" in _PAGE
