"""Spark's speculation gives a slow task a second attempt: what both write counts once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cluster.spark_home import QUICK_JAVA
from tests.kill.victim import ROOT, Victim, by_word
from tests.servers.ports import free_ports

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow, pytest.mark.timeout(400)]

HOSTS = ("127.0.0.1", "127.0.0.2")
"""A second attempt never goes to the first one's host, so one host alone has none."""


class Speculating(Victim):
    module = "tests.kill.speculating_app"


@contextmanager
def cluster(victim: Victim, port: int) -> Iterator[str]:
    """Run a master and two workers with a core each; yield the master's address."""
    master, daemons = f"spark://{HOSTS[0]}:{port}", "org.apache.spark.deploy"
    paths = (ROOT, ROOT / "stores", ROOT / "serdes")
    env = {
        **os.environ,
        "SPARK_HOME": str(victim.folder / "spark"),
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
    with ExitStack() as stack, (victim.folder / "daemons").open("w") as output:
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


def test_a_slow_task_with_a_second_attempt_counts_once(
    tmp_path: Path, victims: list[Victim], monkeypatch: pytest.MonkeyPatch
) -> None:
    victims.append(victim := Speculating(tmp_path))
    with cluster(victim, *free_ports(1)) as master:
        monkeypatch.setenv("SPECULATING_MASTER", master)
        victim.start()
        victim.advance()
        victim.gates.close("running")
        victim.emit()
        victim.wait(lambda: len(victim.gates.held("running")) >= 2, "both tasks")
        slow = victim.gates.held("running")[0]
        batch = victim.committed() + 1
        victim.gates.hold_only("running", slow)
        victim.wait(lambda: victim.committed() >= batch, "the second attempt's commit")
        victim.gates.open("running")
        victim.emit()
        victim.finish()
        victim.end()

    assert by_word(victim.results()) == victim.expected()
