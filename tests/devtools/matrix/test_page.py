"""The generated table in docs/installing.md."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devtools.matrix.page import BEGIN, END, PAGE, table, with_table
from devtools.matrix.results import Result, load

PASSED = Result(
    python="3.12",
    pyspark="4.1",
    suite="fast",
    outcome="passed",
    date="2026-01-02",
    python_version="3.12.1",
    pyspark_version="4.1.3",
    pyarrow_version="22.0.0",
    protobuf_version="6.33.6",
    java_version="17.0.15",
    passed=6500,
    skipped=3,
)


def rows(*results: Result) -> list[str]:
    return [line for line in table(results).splitlines() if line[:2] not in ("", "|-")][1:]


def test_page_has_the_table_of_the_committed_results() -> None:
    page = PAGE.read_text()

    assert with_table(page, load()) == page, "run `python -m devtools.matrix page`"


def test_row_has_complete_versions_and_counts_of_each_suite() -> None:
    types = replace(PASSED, suite="types", passed=2, skipped=0, python_version="3.11.7")

    (row,) = rows(PASSED, types)
    assert row.split(" | ") == [
        "| 3.12.1",
        "4.1.3",
        "22.0.0",
        "6.33.6",
        "17.0.15",
        "6,500 passed, 3 skipped (2026-01-02)",
        "not run",
        "2 passed (2026-01-02) |",
    ]


def test_versions_of_packages_are_those_of_the_tests_on_spark() -> None:
    engine = replace(PASSED, suite="engine", java_version="25.0.1")

    assert rows(PASSED, engine)[0].startswith("| 3.12.1 | 4.1.3 | 22.0.0 | 6.33.6 | 25.0.1 |")


def test_python_used_only_by_type_checkers_is_shown_by_its_minor_version() -> None:
    types = replace(PASSED, python="3.14", suite="types", passed=2, skipped=0)

    assert rows(types) == ["| 3.14 | 4.1 | - | - | - | not run | not run | 2 passed (2026-01-02) |"]


@pytest.mark.parametrize(
    ("result", "cell", "note"),
    [
        (
            replace(PASSED, outcome="failed", failed=2, skipped=0, first_failure="a.py::test - x"),
            "6,500 passed, 2 failed [1] (2026-01-02)",
            "1. The first failure: `a.py::test - x`.",
        ),
        (
            replace(PASSED, outcome="failed", passed=0, skipped=0, first_failure="Killed"),
            "failed [1] (2026-01-02)",
            "1. The first failure: `Killed`.",
        ),
        (
            replace(PASSED, outcome="not available", reason="no Python 3.12 on this machine"),
            "not available [1]",
            "1. Not available: no Python 3.12 on this machine.",
        ),
        (
            replace(PASSED, selection=("tests/a", "tests/b")),
            "6,500 passed, 3 skipped [1] (2026-01-02)",
            "1. A selection: `tests/a`, `tests/b`.",
        ),
    ],
)
def test_note_states_failure_reason_or_selection(result: Result, cell: str, note: str) -> None:
    versions = "3.12.1 | 4.1.3 | 22.0.0 | 6.33.6 | 17.0.15"
    assert rows(result) == [f"| {versions} | {cell} | not run | not run |", note]


def test_cell_that_took_too_long_states_its_minutes() -> None:
    late = replace(PASSED, outcome="timed out", seconds=1800.0)

    assert "| no end after 30 minutes (2026-01-02) |" in rows(late)[0]


def test_equal_notes_are_written_once() -> None:
    missing = replace(PASSED, outcome="not available", reason="none", suite="fast")

    found = rows(missing, replace(missing, suite="engine"))

    versions = "3.12.1 | 4.1.3 | 22.0.0 | 6.33.6 | 17.0.15"
    assert found == [
        f"| {versions} | not available [1] | not available [1] | not run |",
        "1. Not available: none.",
    ]


def test_matrix_page_keeps_its_text_outside_the_table() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"

    found = with_table(page, [PASSED])

    assert found.startswith(f"before\n{BEGIN}\n\n| Python |")
    assert found.endswith(f"\n{END}\nafter\n")
    assert "old" not in found
    assert with_table(found, [PASSED]) == found


def test_page_without_marker_lines_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the page must have the lines"):
        with_table("text", [PASSED])
