"""Progress of a running app."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console

from kstreams.batch.report import BatchReport
from kstreams_cli.progress import Progress, shown_live


def progress(*, logs: bool = False) -> Progress:
    found = Progress(["clicks"], logs=logs)
    found.note(BatchReport("clicks", 0, 12, source_records=10, dropped={"late": 2}, backlog=5))
    found.note(BatchReport("clicks", 1, 1, source_records=1_000, dropped={"late": 1, "null": 1}))
    return found


def rendered(found: Progress) -> list[str]:
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(found.table())
    return console.export_text().splitlines()[1].split("  ")


def test_progress_table_shows_sums_of_batches() -> None:
    assert [part.strip() for part in rendered(progress()) if part.strip()] == [
        "clicks",
        "2",
        "1,010",
        "1,010",
        "0",
        "3 late, 1 null",
    ]


def test_progress_log_lines_are_written_at_most_every_few_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "kstreams.cli"):
        progress(logs=True)
    assert caplog.messages == [
        "clicks: 1 batch, 10 records (10/s), backlog 5, dropped 2 late",
    ]


def test_summary_counts_all_batches() -> None:
    (line,) = progress().lines()
    assert line.startswith("clicks: 2 batches, 1,010 records (")
    assert line.endswith("backlog 0, dropped 3 late, 1 null")


def test_progress_is_shown_as_live_table_on_terminal() -> None:
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=True)
    with shown_live(progress(), console, "app"):
        pass
    assert "clicks" in file.getvalue()
    quiet = Console(file=(nothing := io.StringIO()), width=100)
    with shown_live(progress(), quiet, "app"):
        pass
    assert nothing.getvalue() == ""


def test_summary_leaves_out_counts_that_are_logged() -> None:
    found = Progress(["clicks", "views"], logs=True)
    found.note(BatchReport("clicks", 0, 12, source_records=10))
    found.note(BatchReport("views", 0, 1, source_records=1))
    found.note(BatchReport("views", 1, 2, source_records=2))
    (line,) = found.lines()
    assert line.startswith("views: 2 batches, 3 records (")
