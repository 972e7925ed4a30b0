"""`recovered` and `wait_recovered` of a view."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kstreams.durations import milliseconds, seconds
from kstreams.errors import ExecutionError
from kstreams.views.view import View
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS


def test_view_is_recovered_when_all_partitions_are_at_newest_commit(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    with View(tmp_path, COUNTS) as empty:
        before = empty.recovered  # no partition was read yet
        empty.wait_recovered()
        assert (before, empty.recovered) == (False, True)
    app.put((f"k{n}", n) for n in range(20))
    with View(tmp_path, COUNTS) as view:
        seen = [view.recovered]
        view.get("k1")
        seen.append(view.recovered)
        view.wait_recovered(seconds(10))
        seen.append(view.recovered)
        app.put([("k1", 10)])
        seen.append(view.recovered)
        view.wait_recovered()
        assert [*seen, view.recovered] == [False, False, True, False, True]
        assert view.version == 1


def test_view_of_fixed_version_stays_recovered_after_later_commits(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with View(tmp_path, COUNTS, as_of=0) as view:
        view.wait_recovered()
        app.put([("a", 2)])
        assert (view.recovered, view.get("a")) == (True, 1)


def test_wait_recovered_times_out_while_iteration_holds_version(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2)])
    with View(tmp_path, COUNTS) as view:
        scan = view.items()
        app.put([("a", 2)])
        with pytest.raises(ExecutionError, match=r"has not caught up within 0:00:00\.05"):
            view.wait_recovered(milliseconds(50))
        scan.close()
        view.wait_recovered(milliseconds(5_000))
        with pytest.raises(ExecutionError, match="has not caught up"):
            view.wait_recovered(milliseconds(0))


def test_wait_recovered_returns_once_another_thread_ends_iteration(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1), ("b", 2)])
    with View(tmp_path, COUNTS) as view:
        scan = view.items()
        app.put([("a", 2)])
        threading.Timer(0.1, scan.close).start()
        view.wait_recovered(seconds(20))
        assert view.get("a") == 2
