"""Twenty kills of random processes of a cluster: no record is lost or counted twice.

The process and the pause before each kill follow from the seed `KSTREAMS_SEED`. Each kill is logged
with its number, the second of the test and the process.
"""

from __future__ import annotations

import os
import time
from random import Random

import pytest

from devtools.processes import kill
from tests.cluster.clustered_app import ClusteredApp

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


def test_twenty_random_kills_lose_and_repeat_no_record(app: ClusteredApp) -> None:
    random, began = Random(SEED), time.monotonic()

    def log_line(what: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)  # noqa: T201

    log_line(f"KSTREAMS_SEED={SEED}")
    app.start()
    app.emit(800)
    app.wait_for_all()
    targets = TARGETS * (KILLS // len(TARGETS))
    for number, target in enumerate(random.sample(targets, KILLS)):
        app.emit(random.randrange(400, 1600))
        pause_s = random.uniform(0, 3)
        time.sleep(pause_s)  # the moment of the kill is random
        # The number of draws does not depend on the running processes.
        strikes = Random(random.random())
        log_line(f"kill {number + 1}, after {pause_s:.2f} s: {strike(app, target, strikes)}")
        app.emit(200)
        app.wait_for_all()
        log_line("  all is counted")
    app.assert_exact()
    app.stop()


def strike(app: ClusteredApp, target: str, random: Random) -> str:
    """Kill a process of a kind, and restart it unless Spark does; return its name."""
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
