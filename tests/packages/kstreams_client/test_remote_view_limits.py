"""Methods of a remote view, which has no working copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams.errors import StoreError
from tests.packages.kstreams_client.test_remote_view import SHORT, remote
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.servers.query_server import serving


def test_remote_view_supports_seek_and_recovered(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put((f"k{n}", n) for n in range(9))
    with serving((app.path, COUNTS)) as served, remote(served) as view:
        view.wait_recovered(SHORT)
        assert view.recovered
        scan = view.range("k1", "k8")
        assert next(scan) == ("k1", 1)
        app.put([("k7", 70)])
        assert scan.seek("k6")
        assert list(scan) == [("k6", 6), ("k7", 7)]
        assert view.recovered


def test_remote_view_refuses_methods_that_need_working_copy(tmp_path: Path) -> None:
    app = Committing(tmp_path, COUNTS)
    app.put([("a", 1)])
    with serving((app.path, COUNTS)) as served, remote(served) as view:
        with pytest.raises(StoreError, match="evict needs a working copy"):
            view.evict("a")
        with pytest.raises(StoreError, match="follow_rows needs a working copy"):
            view.follow_rows(lambda changes: None)
        assert view.get("a") == 1
