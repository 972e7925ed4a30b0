"""Twenty kills at random, of whatever a cluster has: nothing is lost, nothing counts twice.

What is killed, and after which pause, follows from a seed: KSTREAMS_SEED takes another one. Each
strike is told with its number, the second of the test and the process.
"""

from __future__ import annotations

import os
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

SEED = int(os.environ.get("KSTREAMS_SEED", "14"))
KILLS = 20
TARGETS = ("master", "worker", "executor", "driver", "jvm")


def test_twenty_kills(app: ClusteredApp) -> None:
    random, began = Random(SEED), time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)  # noqa: T201

    tell(f"KSTREAMS_SEED={SEED}")
    app.start()
    app.emit(800)
    app.wait_for_all()
    targets = TARGETS * (KILLS // len(TARGETS))
    for number, target in enumerate(random.sample(targets, KILLS)):
        app.emit(random.randrange(400, 1600))
        pause_s = random.uniform(0, 3)
        time.sleep(pause_s)  # the moment of the kill is the test
        strikes = Random(random.random())  # as many draws whatever runs just now
        tell(f"kill {number + 1}, after {pause_s:.2f} s: {strike(app, target, strikes)}")
        app.emit(200)
        app.wait_for_all()
        tell("  all is counted")
    app.assert_exact()
    app.stop()


def strike(app: ClusteredApp, target: str, random: Random) -> str:
    """Kill a process of a kind, and start again what does not by itself; return what that was."""
    cluster = app.cluster
    match target:
        case "master":
            cluster.kill_master()
            cluster.start()
            return "master"
        case "worker":
            lost = random.choice(cluster.workers)
            executors = len(lost.executors())
            cluster.lose(lost)
            machine = random.choice((lost.machine, None))
            added = cluster.add_worker(machine=machine)
            return f"{lost.machine.name} with {executors} executors, then {added.machine.name}"
        case "executor":
            if not (running := cluster.executors()):
                return "no executor: none runs"
            kill(pid := random.choice(running))
            return f"executor {pid}, one of {len(running)}"
        case _:
            driver = app.drivers[-1]
            kill(driver.python if target == "driver" else driver.jvm)
            driver.end()
            newer = app.start(random.choice((driver.machine, None)))
            part = "Python" if target == "driver" else "JVM"
            return f"{part} of {driver.machine.name}, then {newer.machine.name}"
