"""`seek` of an iteration over a view."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.errors import SerializationError, StoreError
from kstreams.views.view import View
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS

_KEYS = [f"k{n:02}" for n in range(30)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Committing:
    made = Committing(tmp_path_factory.mktemp("seek"), COUNTS)
    made.put((key, n) for n, key in enumerate(_KEYS))
    made.put([("k07", None)])
    return made


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    start=st.none() | st.sampled_from(["", "k05", "k0", "k20", "x"]),
    end=st.none() | st.sampled_from(["k05", "k06", "k25", "x"]),
    reverse=st.booleans(),
    steps=st.lists(
        st.integers(0, 4) | st.sampled_from(["", "k00", "k07", "k071", "k15", "k29", "z"]),
        max_size=8,
    ),
)
def test_seek_continues_at_key_within_range(
    app: Committing, start: str | None, end: str | None, reverse: bool, steps: list[int | str]
) -> None:
    inside = [
        key
        for key in _KEYS
        if key != "k07" and (start is None or key >= start) and (end is None or key < end)
    ]
    order = inside[::-1] if reverse else inside
    left = list(order)
    with View(app.path, COUNTS) as view:
        scan = view.range(start, end, reverse=reverse)
        for step in steps:
            if isinstance(step, int):
                for _ in range(min(step, len(left))):
                    assert next(scan)[0] == left.pop(0)
            else:
                left = [key for key in order if (key <= step if reverse else key >= step)]
                assert scan.seek(step) is bool(left)
        assert [key for key, _ in scan] == left


def test_seek_stays_at_version_of_iteration(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2), ("c", 3)])
    with View(tmp_path, COUNTS) as view:
        scan = view.items()
        assert next(scan) == ("a", 1)
        app.put([("b", 20), ("c", None), ("d", 4)])
        assert scan.seek("b")
        assert (list(scan), view.get("b")) == ([("b", 2), ("c", 3)], 20)


def test_seek_rejects_ended_iteration_and_key_of_wrong_type(
    app: Committing,
) -> None:
    with View(app.path, COUNTS) as view:
        scan = view.items()
        with pytest.raises(SerializationError):
            scan.seek(5)  # type: ignore[arg-type]  # the invalid argument
        assert not scan.seek("z")
        assert scan.seek("k29")
        assert list(scan) == [("k29", 29)]
        with pytest.raises(StoreError, match="has ended"):
            scan.seek("k01")
