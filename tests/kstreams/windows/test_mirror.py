"""The record engine and the column engine have corresponding files."""

from __future__ import annotations

from pathlib import Path

import kstreams.windows

HERE = Path(next(iter(kstreams.windows.__path__)))

MIRRORED = {
    "emission/batch_end",
    "emission/every",
    "lateness",
    "processor",
    "session",
    "slices",
    "sliding",
    "time",
}
"""Features implemented by both engines."""

RECORDS_ALONE = {
    "blocks": "columns merge ranges in `kstreams/columns/ranges.py`",
    "bounds": "columns assign all times of a table at once, in `assignment`",
    "closing": "columns close windows after each table, in `processor`",
    "emission/at_once": "columns forward updates as one table, in `processor`",
    "emission/choice": "columns have a base for all emissions",
    "emission/emitter": "columns have a base for all emissions",
    "emission/rate_limit": "at_most_every() processes each record separately",
    "suppress": "it stands below an aggregation, where there are records",
}
COLUMNS_ALONE = {
    "assignment": "records ask the kind of windows for each time",
    "batch": "records come one by one",
    "fallback": "columns leave some keys to records",
    "panes": "records go into each of their windows",
    "results": "the type of results in columns",
    "session_order": "records come in the order of arrival",
    "session_runs": "records join sessions one by one",
    "sliding_ranges": "records change only the windows around them",
}


def names(engine: str) -> set[str]:
    root = HERE / engine
    files = (file.relative_to(root).with_suffix("") for file in root.rglob("*.py"))
    return {file.as_posix() for file in files if file.name != "__init__"}


def test_window_engines_by_records_and_by_columns_have_same_modules() -> None:
    assert names("records") & names("columns") == MIRRORED


def test_modules_of_only_one_window_engine_are_listed_with_reason() -> None:
    assert names("records") - MIRRORED == RECORDS_ALONE.keys()
    assert names("columns") - MIRRORED == COLUMNS_ALONE.keys()
