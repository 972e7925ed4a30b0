"""After a kill of any part, an app on a cluster of empty machines continues with exact results."""

from __future__ import annotations

import pytest

from devtools.processes import kill
from tests.cluster.clustered_app import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.kill,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def test_killed_worker_and_driver_lose_and_repeat_no_record(app: ClusteredApp) -> None:
    """Kill a worker with its executor, then the driver; `make test-cluster` has more cases."""
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
