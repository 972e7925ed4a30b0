"""
Spark standalone: a master, workers and drivers, each on a machine of its own.

The machines (`devtools.servers.machine`) share Spark's and the library's programs and the
network, and no file. What an app keeps must be on Kafka and in an object store::

    with SparkCluster(folder, installed_wheels(folder / "wheel")) as cluster:
        cluster.add_worker()
        driver = cluster.add_machine("driver")
        driver.path("app.py").write_text(...)
        cluster.submit(driver, "app.py").wait()

A machine goes on where its processes are killed: what is started on it again finds its files.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from devtools.processes import command, end_session, session
from devtools.servers.machine import Machine
from devtools.servers.ports import free_ports
from devtools.servers.process import Server, tail
from devtools.spark_home import QUICK_JAVA
from kstreams.spark.java import java_home

__all__ = ("SparkCluster", "Worker")

_WAIT_S = 300.0  # only a failure takes as long
_PAUSE_S = 0.05
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.log.level": "WARN",
    "spark.python.unix.domain.socket.enabled": "true",
}
_EXECUTOR = "CoarseGrainedExecutorBackend"
_SPARK = Path(sysconfig.get_path("purelib")) / "pyspark"


@dataclass
class Worker:
    """A worker process, and the machine that it and its executors run on."""

    machine: Machine
    process: subprocess.Popen[bytes]

    def executors(self) -> list[int]:
        """Return the executors that it runs."""
        return [pid for pid in session(self.process.pid) if _EXECUTOR in command(pid)]


class SparkCluster(Server):
    """
    A master and its workers; enter it as a context, which ends with all that it has started.

    Args:
        folder: An empty one, for the machines' files and what their processes say.
        environment: A virtual environment, which each machine gets a copy of.

    Attributes:
        machines: All there are, by name.
        workers: Those that run, in the order of their starts.

    """

    def __init__(self, folder: Path, environment: Path) -> None:
        self._folder = folder
        self._environment = environment
        self._addresses = (f"127.0.0.{number}" for number in count(2))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._master: subprocess.Popen[bytes] | None = None
        self._ports: tuple[int, int] = (0, 0)
        self.machines: dict[str, Machine] = {}
        self.workers: list[Worker] = []

    @property
    def url(self) -> str:
        """The master's, for workers and drivers."""
        return f"spark://{self.machines['master'].address}:{self._ports[0]}"

    def log(self, name: str) -> Path:
        """Return the file of what the processes of a machine say."""
        return self._folder / f"{name}.log"

    def add_machine(self, name: str) -> Machine:
        """Add a machine, its HOME and its /tmp empty but for `~/env`."""
        machine = Machine(name, self._folder / name, next(self._addresses), self._environment)
        self.machines[name] = machine
        return machine

    # ------------------------------------------------------------ master and workers

    def start(self) -> SparkCluster:
        """Start the master, again on what it has written about apps and workers."""
        if self._master is None or self._master.poll() is not None:
            if "master" not in self.machines:
                self.add_machine("master")
                first, second = free_ports(2)
                self._ports = first, second
            machine = self.machines["master"]
            self._master = self._daemon(
                machine,
                "master.Master",
                ("--port", str(self._ports[0])),
                {
                    "spark.deploy.recoveryMode": "FILESYSTEM",
                    "spark.deploy.recoveryDirectory": machine.here("recovery"),
                },
                ui_port=self._ports[1],
            )
            self.wait(lambda: bool(self.state()), "the master", during=self._master)
        return self

    def stop(self) -> None:
        """End every process that was started here, and those that these have started."""
        for process in reversed(self._processes):
            while end_session(process.pid):
                time.sleep(_PAUSE_S)
            process.wait()

    def kill_master(self) -> None:
        """End the master with SIGKILL."""
        assert self._master is not None
        self._master.kill()
        self._master.wait()

    def add_worker(self, *, cores: int = 1, machine: Machine | None = None) -> Worker:
        """
        Start a worker, and wait until the master knows it.

        Args:
            cores: How many it offers.
            machine: One without a worker; by default a new one.

        """
        if machine is None:
            machine = self.add_machine(f"worker-{len(self.machines)}")
        process = self._daemon(
            machine,
            "worker.Worker",
            ("--cores", str(cores), "--memory", "4g", "--work-dir", machine.here("work"), self.url),
            {"spark.decommission.enabled": "true"},
        )
        known = f"worker {machine.name}"
        self.wait(lambda: machine.address in self._registered(), known, during=process)
        self.workers.append(Worker(machine, process))
        return self.workers[-1]

    def _registered(self) -> set[str]:
        """Return the addresses of the workers that the master has."""
        return {
            each["host"] for each in self.state().get("workers", ()) if each["state"] == "ALIVE"
        }

    def lose(self, worker: Worker) -> None:
        """End a worker and its executors with SIGKILL, as if its machine were gone."""
        end_session(worker.process.pid)
        worker.process.wait()
        self.workers.remove(worker)

    def state(self) -> dict[str, Any]:
        """Return what the master says of itself; nothing while it does not answer."""
        url = f"http://{self.machines['master'].address}:{self._ports[1]}/json/"
        with suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
        return {}

    # ------------------------------------------------------------ drivers

    def submit(
        self,
        machine: Machine,
        program: str,
        *arguments: str,
        config: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """
        Run `spark-submit` in client mode: the driver is on this machine.

        Args:
            machine: Which.
            program: Its path there, below `~`.
            arguments: The program's.
            config: Spark's settings, besides those for a quick start.
            environment: Variables of the driver.

        Returns:
            The driver's JVM; Python is a child of it.

        """
        command = self._submit("client", config or {})
        return self._run(machine, [*command, machine.here(program), *arguments], environment)

    def submit_to_cluster(
        self, program: str, *arguments: str, config: Mapping[str, str] | None = None
    ) -> None:
        """
        Run `spark-submit` in cluster mode: the driver is on a worker, on another if that dies.

        Spark's standalone master takes no Python program there, but any class of Java's: the
        one that is submitted is Spark's own, which runs a Python program.

        Args:
            program: Its path below `~` of every worker.
            arguments: The program's.
            config: Spark's settings, besides those for a quick start.

        Raises:
            RuntimeError: The master did not take it.

        """
        machine = self.machines["master"]
        some_jar = min(_SPARK.glob("jars/*.jar"), key=lambda jar: jar.stat().st_size)
        runner = ("--supervise", "--class", "org.apache.spark.deploy.PythonRunner", str(some_jar))
        command = [*self._submit("cluster", config or {}), *runner, machine.here(program), ""]
        process = self._run(machine, [*command, *arguments])
        if process.wait():
            raise RuntimeError(f"not submitted:\n{tail(self.log('master'))}")

    def executors(self) -> list[int]:
        """Return the executors' processes, on the workers in the order of their starts."""
        return [pid for worker in self.workers for pid in worker.executors()]

    # ------------------------------------------------------------ processes

    def wait(
        self,
        reached: Callable[[], bool],
        what: str,
        *,
        during: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """
        Wait for something.

        Args:
            reached: Tells whether it is there.
            what: It, for the error.
            during: A process that must not end before.

        Raises:
            RuntimeError: It does not come; with the last that all machines have said.

        """
        deadline = time.monotonic() + _WAIT_S
        while not reached():
            ended = during is not None and during.poll() is not None
            if ended or time.monotonic() > deadline:
                logs = (f"{name}:\n{tail(self.log(name))}" for name in self.machines)
                raise RuntimeError(f"{what} does not come\n" + "\n".join(logs))
            time.sleep(_PAUSE_S)

    def _submit(self, mode: str, config: Mapping[str, str]) -> list[str]:
        settings = {**_SETTINGS, **config}
        given = [part for name, text in settings.items() for part in ("--conf", f"{name}={text}")]
        return ["spark-submit", "--master", self.url, "--deploy-mode", mode, *given]

    def _daemon(
        self,
        machine: Machine,
        kind: str,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        ui_port: int = 0,
    ) -> subprocess.Popen[bytes]:
        """Start a daemon of Spark's, without the shell scripts around it."""
        command = [str(java_home() / "bin" / "java"), *QUICK_JAVA.split(), "-Xmx256m"]
        command += [f"-D{name}={text}" for name, text in settings.items()]
        command += ["-cp", f"{_SPARK}/conf/:{_SPARK}/jars/*", f"org.apache.spark.deploy.{kind}"]
        command += ["--host", machine.address, "--webui-port", str(ui_port), *arguments]
        return self._run(machine, command)

    def _run(
        self,
        machine: Machine,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        process = machine.run(command, self.log(machine.name), environment)
        self._processes.append(process)
        return process
