"""Twenty kills at random, of whatever a cluster has: nothing is lost, nothing counts twice."""

from __future__ import annotations

import time
from random import Random

import pytest

from devtools.processes import kill
from tests.cluster.clustered import ClusteredApp

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.kill,
    pytest.mark.cluster,
    pytest.mark.timeout(3600),
]

KILLS = 20
TARGETS = ("master", "worker", "executor", "driver", "jvm")


def test_twenty_kills(app: ClusteredApp) -> None:
    random = Random(14)
    app.start()
    app.emit(800)
    app.wait_for_all()
    targets = TARGETS * (KILLS // len(TARGETS))
    for number, target in enumerate(random.sample(targets, KILLS)):
        app.emit(random.randrange(400, 1600))
        time.sleep(random.uniform(0, 3))  # the moment of the kill is the test
        strike(app, target, random)
        app.emit(200)
        app.wait_for_all()
        print(f"kill {number + 1}: {target}")  # noqa: T201  # shown where it fails
    app.assert_exact()
    app.stop()


def strike(app: ClusteredApp, target: str, random: Random) -> None:
    """Kill a process of a kind, and start again what does not by itself."""
    cluster = app.cluster
    match target:
        case "master":
            cluster.kill_master()
            cluster.start()
        case "worker":
            lost = random.choice(cluster.workers)
            cluster.lose(lost)
            cluster.add_worker(machine=random.choice((lost.machine, None)))
        case "executor":
            if executors := cluster.executors():
                kill(random.choice(executors))
        case _:
            driver = app.drivers[-1]
            kill(driver.python if target == "driver" else driver.jvm)
            driver.end()
            app.start(random.choice((driver.machine, None)))
