"""An app on a real cluster goes on exactly, whatever of it dies, on machines that are empty."""

from __future__ import annotations

import pytest

from devtools.processes import kill
from tests.cluster.clustered import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def test_nothing_is_lost_or_counted_twice(app: ClusteredApp) -> None:
    """A worker goes with its executor, then the driver; the rest is `make test-cluster`."""
    cluster = app.cluster
    app.emit(800)
    driver = app.start()
    app.wait_for_all()

    app.emit(800)
    cluster.lose(cluster.workers[0])
    cluster.add_worker()
    app.wait_for_all()

    app.emit(800)
    kill(driver.python)
    driver.end()
    app.start()

    app.assert_exact()
    app.stop()
