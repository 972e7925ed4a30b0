"""Spark standalone: a master, workers and drivers, each on its own machine.

The machines (`devtools.servers.machine`) share the network and the programs of Spark and the
library, but no files. An app must keep its data in Kafka and in an object store::

    with SparkCluster(folder, installed_wheels(folder / "wheel")) as cluster:
        cluster.add_worker()
        driver = cluster.add_machine("driver")
        driver.path("app.py").write_text(...)
        cluster.submit(driver, "app.py").wait()

A machine survives the kill of its processes: new processes on the machine find its files.
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
from kstreams.spark.startup.java import java_home

__all__ = ("SparkCluster", "Worker")

_WAIT_S = 300.0  # reached only after a failure
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
    """A worker process, and the machine of the worker and its executors."""

    machine: Machine
    process: subprocess.Popen[bytes]

    def executors(self) -> list[int]:
        """Return the process ids of its executors."""
        return [pid for pid in session(self.process.pid) if _EXECUTOR in command(pid)]


class SparkCluster(Server):
    """A master and its workers; leaving the context stops all started processes.

    Args:
        folder: An empty folder for the machines' files and the logs of their processes.
        environment: A virtual environment, which is copied to each machine.

    Attributes:
        machines: All machines by name.
        workers: The running workers, in the order of their starts.
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
        """The master's URL, for workers and drivers."""
        return f"spark://{self.machines['master'].address}:{self._ports[0]}"

    def log(self, name: str) -> Path:
        """Return the log file of a machine's processes."""
        return self._folder / f"{name}.log"

    def add_machine(self, name: str) -> Machine:
        """Add a machine; its HOME and /tmp are empty except for `~/env`."""
        machine = Machine(name, self._folder / name, next(self._addresses), self._environment)
        self.machines[name] = machine
        return machine

    # ------------------------------------------------------------ master and workers

    def start(self) -> SparkCluster:
        """Start the master, with the recovery data of an earlier master about apps and workers."""
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
        """Stop all processes started by the cluster, and their descendants."""
        for process in reversed(self._processes):
            while end_session(process.pid):
                time.sleep(_PAUSE_S)
            process.wait()

    def kill_master(self) -> None:
        """Kill the master with SIGKILL."""
        assert self._master is not None
        self._master.kill()
        self._master.wait()

    def add_worker(self, *, cores: int = 1, machine: Machine | None = None) -> Worker:
        """Start a worker, and wait until it is registered with the master.

        Args:
            cores: The number of cores that the worker offers.
            machine: A machine without a worker; by default a new one.
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
        """Return the addresses of the workers registered with the master."""
        return {
            each["host"] for each in self.state().get("workers", ()) if each["state"] == "ALIVE"
        }

    def lose(self, worker: Worker) -> None:
        """Kill a worker and its executors with SIGKILL, as in the loss of a machine."""
        end_session(worker.process.pid)
        worker.process.wait()
        self.workers.remove(worker)

    def state(self) -> dict[str, Any]:
        """Return the master's state as JSON; empty while the master does not answer."""
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
        """Run `spark-submit` in client mode: the driver is on this machine.

        Args:
            machine: The machine of the driver.
            program: The path of the program below the machine's `~`.
            arguments: The arguments of the program.
            config: Spark's settings, in addition to those for a quick start.
            environment: Variables of the driver.

        Returns:
            The driver's JVM; Python is a child process of it.
        """
        command = self._submit("client", config or {})
        return self._run(machine, [*command, machine.here(program), *arguments], environment)

    def submit_to_cluster(
        self, program: str, *arguments: str, config: Mapping[str, str] | None = None
    ) -> None:
        """Run `spark-submit` in cluster mode: the driver is on a worker, and moves if that dies.

        In this mode, Spark's standalone master does not accept Python programs, but any Java class:
        the submitted class is Spark's own, which runs a Python program.

        Args:
            program: The path of the program below `~` of every worker.
            arguments: The arguments of the program.
            config: Spark's settings, in addition to those for a quick start.

        Raises:
            RuntimeError: The master rejected the program.
        """
        machine = self.machines["master"]
        some_jar = min(_SPARK.glob("jars/*.jar"), key=lambda jar: jar.stat().st_size)
        runner = ("--supervise", "--class", "org.apache.spark.deploy.PythonRunner", str(some_jar))
        command = [*self._submit("cluster", config or {}), *runner, machine.here(program), ""]
        process = self._run(machine, [*command, *arguments])
        if process.wait():
            raise RuntimeError(
                f"spark-submit did not submit the application:\n{tail(self.log('master'))}"
            )

    def executors(self) -> list[int]:
        """Return the process ids of the executors, in the order of their workers' starts."""
        return [pid for worker in self.workers for pid in worker.executors()]

    # ------------------------------------------------------------ processes

    def wait(
        self,
        reached: Callable[[], bool],
        what: str,
        *,
        during: subprocess.Popen[bytes] | None = None,
    ) -> None:
        """Wait for a condition.

        Args:
            reached: Returns whether the condition is true.
            what: A description of the condition, for the error.
            during: A process that must not end before.

        Raises:
            RuntimeError: The condition was not true in time; the message contains the last log
                lines of all machines.
        """
        deadline = time.monotonic() + _WAIT_S
        while not reached():
            ended = during is not None and during.poll() is not None
            if ended or time.monotonic() > deadline:
                logs = (f"{name}:\n{tail(self.log(name))}" for name in self.machines)
                raise RuntimeError(f"{what} did not appear in time\n" + "\n".join(logs))
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
        """Start a Spark daemon without Spark's shell scripts."""
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
