"""Differences between two versions of a store, compared with a model, in the store's order."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import TEXT
from kstreams.durations import milliseconds
from kstreams.serde import DOUBLE
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.kind import window_store
from kstreams.views.view import View
from kstreams.windows import TumblingWindows, Windowed
from kstreams_admin.difference import changed_rows
from kstreams_admin.flat_rows import rows_of
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS

CONTENT = st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 2))


def changes(path: Path, spec: StoreSpec[Any], old: int, new: int) -> list[tuple[Any, ...]]:
    with View(path, spec, as_of=old) as before, View(path, spec, as_of=new) as after:
        found = list(changed_rows(before, after))
        both = sum(each is None for each in found)
        added = sum(each is not None and each.sign == "+" for each in found)
        assert both + added == len(list(rows_of(after)))
        return [(each.sign, *each.row) for each in found if each is not None]


@pytest.mark.long
@settings(max_examples=15)
@given(CONTENT, CONTENT)
def test_difference_of_versions_equals_model(
    first: dict[str, int | None], second: dict[str, int | None]
) -> None:
    with TemporaryDirectory() as folder:
        app = Committing(Path(folder), COUNTS)
        app.put(first.items())
        app.put(second.items())
        before = {key: value for key, value in first.items() if value is not None}
        after = {k: v for k, v in {**before, **second}.items() if v is not None}
        expected = [
            (sign, key, side[key])
            for key in "abcdefgh"
            for sign, side in (("-", before), ("+", after))
            if key in side and before.get(key) != after.get(key)
        ]
        assert changes(app.path, COUNTS, 0, 1) == expected
        assert [(each[0], each[1]) for each in changes(app.path, COUNTS, 1, 0)] == [
            ("+" if sign == "-" else "-", key) for sign, key, _ in _turned(expected)
        ]


def _turned(found: list[tuple[str, str, Any]]) -> list[tuple[str, str, Any]]:
    return sorted(found, key=lambda each: (each[1], each[0] == "-"))


def test_difference_of_window_stores_is_ordered_by_time_and_leaves_out_equal_nans(
    tmp_path: Path,
) -> None:
    windows = TumblingWindows(milliseconds(10))
    spec = window_store("counts", key=TEXT, value=DOUBLE, windows=windows)
    app = Committing(tmp_path / "windows", spec)
    nan = float("nan")
    app.commit(lambda s, p: p == 0 and s.put(Windowed("a", 10, 20), nan))
    app.commit(lambda s, p: (s.put(Windowed("a", 10, 20), nan), s.put(Windowed(f"k{p}", 0, 10), p)))
    found = changes(app.path, spec, 0, 1)
    assert found == [
        *(("+", f"k{p}", 0, float(p)) for p in range(3)),
        *(("+", "a", 10, each[-1]) for each in found[3:]),
    ]
    assert len(found) == 5  # the earlier row of key `a` is equal in both versions
