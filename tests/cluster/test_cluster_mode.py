"""A driver that was submitted in cluster mode is restarted after its death."""

from __future__ import annotations

import pytest

from devtools.processes import command, kill, session
from tests.cluster.clustered_app import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.kill,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
]

DRIVER = "org.apache.spark.deploy.worker.DriverWrapper"


def test_supervised_driver_is_restarted_after_a_kill_and_continues(app: ClusteredApp) -> None:
    app.cluster.add_worker()
    app.emit(800)
    app.start_on_cluster()
    app.wait_for_all()
    for _ in range(2):
        app.emit(400)
        (driver,) = drivers(app)
        kill(driver)
        app.emit(800)
        app.wait_for_all()
    app.cluster.lose(
        next(w for w in app.cluster.workers if drivers(app)[0] in session(w.process.pid))
    )
    app.emit(800)
    app.assert_exact()


def drivers(app: ClusteredApp) -> list[int]:
    """Return the JVMs of drivers on all workers."""
    running = (pid for w in app.cluster.workers for pid in session(w.process.pid))
    return [pid for pid in running if DRIVER in command(pid)]
