"""Spark's speculation gives a slow task a second attempt: the results of both count once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from devtools.servers.ports import free_ports
from devtools.spark_home import QUICK_JAVA
from tests.kill.killed_app import ROOT, KilledApp, by_word

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(400)]

HOSTS = ("127.0.0.1", "127.0.0.2")
"""Number of hosts: a second attempt never runs on the host of the first."""


class Speculating(KilledApp):
    module = "tests.kill.speculation_app"


@contextmanager
def cluster(killed_app: KilledApp, port: int) -> Iterator[str]:
    """Run a master and two workers with a core each; yield the master's address."""
    master, daemons = f"spark://{HOSTS[0]}:{port}", "org.apache.spark.deploy"
    paths = (ROOT, ROOT / "connectors", ROOT / "stores", ROOT / "serdes")
    env = {
        **os.environ,
        "SPARK_HOME": str(killed_app.folder / "spark"),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    env.pop("SPARK_LOCAL_IP", None)
    begun = [[f"{daemons}.master.Master", "--host", HOSTS[0], "--port", str(port)]]
    begun += [
        [f"{daemons}.worker.Worker", "--host", host, "-c", "1", "-m", "1024M", master]
        for host in HOSTS
    ]
    with ExitStack() as stack, (killed_app.folder / "daemons").open("w") as output:
        for arguments in begun:
            process = subprocess.Popen(
                [f"{env['SPARK_HOME']}/bin/spark-class", *arguments, "--webui-port", "0"],
                env=env,
                stdout=output,
                stderr=output,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield master


def test_results_of_slow_task_with_speculative_attempt_are_counted_once(
    tmp_path: Path, victims: list[KilledApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    victims.append(killed_app := Speculating(tmp_path))
    with cluster(killed_app, *free_ports(1)) as master:
        monkeypatch.setenv("SPECULATING_MASTER", master)
        killed_app.start()
        killed_app.advance()
        killed_app.barriers.close("running")
        killed_app.emit()
        killed_app.wait(lambda: len(killed_app.barriers.held("running")) >= 2, "both tasks")
        slow = killed_app.barriers.held("running")[0]
        batch = killed_app.committed() + 1
        killed_app.barriers.hold_only("running", slow)
        killed_app.wait(lambda: killed_app.committed() >= batch, "the second attempt's commit")
        killed_app.barriers.open("running")
        killed_app.emit()
        killed_app.finish()
        killed_app.end()

    assert by_word(killed_app.results()) == killed_app.expected()
