"""Executors that join, leave, are slow or are lost do not change the results."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial

import pytest

from devtools.processes import alive, ancestor, command, session
from tests.cluster.clustered_app import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
]

DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "2s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "200ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.3",
}
DECOMMISSION = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "2s",
}


def test_dynamic_allocation_follows_the_load_with_exact_results(app: ClusteredApp) -> None:
    """An idle executor ends. Waiting tasks bring another one, here because the first is stopped."""
    cluster = app.cluster
    app.emit(800)
    app.start(config=DYNAMIC, options={"parallelism": 4})
    app.wait_for_all()
    for _ in range(2):
        cluster.wait(lambda: len(cluster.executors()) == 1, "the idle executor's end")
        (busy,) = cluster.executors()
        os.kill(busy, signal.SIGSTOP)
        app.emit(1600)
        cluster.wait(lambda: len(cluster.executors()) == 2, "an executor for the load")
        os.kill(busy, signal.SIGCONT)
        app.wait_for_all()
    app.assert_exact()
    app.stop()


def test_tasks_of_a_slow_executor_are_run_elsewhere(app: ClusteredApp) -> None:
    """Stop the executor's processes for seconds, several times, while tasks run."""
    app.emit(800)
    driver = app.start(config=SPECULATION)
    app.wait_for_all()
    for number in range(4):
        app.emit(800)
        worker = app.cluster.workers[number % 2]
        slow = worker.executors()
        for pid in slow:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in slow:
            os.kill(pid, signal.SIGCONT)
        app.wait_for_all()
    app.assert_exact()
    app.stop()
    assert "another attempt succeeded" in app.cluster.log(driver.machine.name).read_text()


def test_decommissioned_executor_exits_without_lost_tasks(app: ClusteredApp) -> None:
    app.emit(800)
    driver = app.start(config=DECOMMISSION)
    app.wait_for_all()
    for _ in range(2):
        app.emit(1600)
        app.cluster.wait(lambda: len(at_work(app)) == 2, "two executors that have run tasks")
        leaving = min(at_work(app))
        app.emit(400)
        os.kill(leaving, signal.SIGPWR)
        app.wait_for_all()
        app.cluster.wait(partial(_ended, leaving), "the executor's end")
    app.assert_exact()
    app.stop()
    said = app.cluster.log(driver.machine.name).read_text()
    assert said.count(" decommissioned message") == 2
    assert "Lost task" not in said


def at_work(app: ClusteredApp) -> set[int]:
    """Return the executors that have run tasks; one that is starting dies from a signal."""
    found = set()
    for worker in app.cluster.workers:
        for pid in session(worker.process.pid):
            if "pyspark.worker" in command(pid):
                with suppress(LookupError, OSError):
                    found.add(ancestor(pid, "CoarseGrainedExecutorBackend"))
    return found


def _ended(pid: int) -> bool:
    return not alive(pid)
