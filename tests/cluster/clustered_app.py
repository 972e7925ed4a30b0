"""A test's view of an app on a cluster: its input, its drivers and its output."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from os import kill
from pathlib import Path
from time import sleep
from types import MappingProxyType

from devtools.processes import alive, command, end_session, parent, session, state
from devtools.servers.machine import Machine
from devtools.servers.s3 import Bucket
from devtools.servers.spark_cluster import SparkCluster
from kstreams import Emitter, Kafka
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import RawRecord
from kstreams.state.log.commits import Commit
from tests.cluster import counting_app
from tests.cluster.counting_app import GRACE_S, WINDOW_MS, lines, per_window, totals
from tests.support.apps import word_counter

__all__ = ("ClusteredApp", "Driver")

PARTITIONS = 4
PROGRAM = "counting_app.py"
_WAIT_S = 300
_STEP_MS = 2
"""Event time between two lines: lines emitted together are less apart than the grace period."""
_START_MS = 1_700_000_000_000
_SLACK_S = 1
"""Each task has seen a record of the last second."""


@dataclass(frozen=True)
class Driver:
    """A driver in client mode: a JVM that has started a Python process."""

    machine: Machine
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def jvm(self) -> int:
        """The process of the JVM."""
        return self.process.pid

    @property
    def python(self) -> int:
        """The driver's Python process.

        A forked child has the same name until it starts its program.
        """
        called = {pid for pid in session(self.jvm) if pid != self.jvm and PROGRAM in command(pid)}
        (found,) = (pid for pid in called if parent(pid) not in called)
        return found

    @property
    def paused(self) -> bool:
        """Whether the Python process is stopped by a signal."""
        return state(self.python) == "T"

    def pause(self) -> None:
        """Stop the JVM of a driver whose Python process is stopped, as if the machine hung."""
        kill(self.jvm, signal.SIGSTOP)

    def resume(self) -> None:
        """Let both processes continue."""
        for pid in (self.jvm, self.python):
            kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """Wait until the driver has ended by itself, because a part of it was killed.

        Raises:
            AssertionError: The driver still runs. Has its log and the stacks of its threads.
        """
        try:
            self.process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            for pid in session(self.jvm):  # write the stacks of the threads into the log
                kill(pid, signal.SIGQUIT if pid == self.jvm else signal.SIGUSR1)
            sleep(2)
            told = self.log.read_text(errors="replace")[-40_000:]
            raise AssertionError(f"{self.machine.name} does not end:\n{told}") from None
        end_session(self.jvm)


@dataclass
class ClusteredApp:
    """An app with its topics and its checkpoint; drivers can be started and stopped.

    Args:
        name: Name of the app, and prefix of its topics and of its objects in the bucket.
        cluster: The cluster that runs the app.
        bootstrap: Address of the broker.
        bucket: Bucket for checkpoint and state.
        max_records: Most records of a batch.
    """

    name: str
    cluster: SparkCluster
    bootstrap: str
    bucket: Bucket
    max_records: int = 400
    drivers: list[Driver] = field(default_factory=list)
    _emitted: int = 0
    _words: Counter[str] = field(default_factory=Counter)
    _windows: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Create the topics."""
        self._kafka = Kafka(self.bootstrap)
        with closing(self._kafka.admin()) as admin:
            for topic in (lines(self.name), totals(self.name), per_window(self.name)):
                admin.create(topic.name, PARTITIONS, config={"retention.ms": "-1"})

    # ------------------------------------------------------------ input

    def emit(self, count: int) -> None:
        """Append lines, 2,000 at most, with increasing event times."""
        first = self._emitted
        self._emitted += count
        with Emitter(lines(self.name), self._kafka) as emitter:
            for number in range(first, self._emitted):
                text = f"a b{number % 7} c{number % 31} a"
                time_ms = _START_MS + number * _STEP_MS
                emitter.emit(b"%d" % number, text, timestamp=time_ms)
                for word in text.split():
                    self._words[word] += 1
                    self._windows[word, time_ms // WINDOW_MS * WINDOW_MS] += 1

    # ------------------------------------------------------------ drivers

    def start(
        self,
        machine: Machine | None = None,
        *,
        config: Mapping[str, str] = MappingProxyType({}),
        options: Mapping[str, object] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> Driver:
        """Submit a driver in client mode.

        Args:
            machine: The driver's machine. By default a new, empty one.
            config: Settings of Spark.
            options: Options of the program in addition to the usual ones.
            environment: Additional variables of the driver.
        """
        machine = machine or self.cluster.add_machine(f"driver-{len(self.cluster.machines)}")
        self.install(machine)
        given = self.options(options)
        process = self.cluster.submit(
            machine, PROGRAM, given, config=config, environment=environment
        )
        self.drivers.append(Driver(machine, process, self.cluster.log(machine.name)))
        return self.drivers[-1]

    def start_on_cluster(self, config: Mapping[str, str] = MappingProxyType({})) -> None:
        """Submit a driver in cluster mode."""
        for worker in self.cluster.workers:
            self.install(worker.machine)
        self.cluster.submit_to_cluster(PROGRAM, self.options(), config=config)

    @staticmethod
    def install(machine: Machine) -> None:
        """Copy the program and the module that it imports to a machine."""
        shutil.copy(str(counting_app.__file__), machine.path(PROGRAM))
        folder = machine.path(".")
        for name in word_counter.__name__.split(".")[:-1]:
            folder = folder / name
            folder.mkdir(exist_ok=True)
            folder.joinpath("__init__.py").touch()
        shutil.copy(str(word_counter.__file__), folder)

    def options(self, others: Mapping[str, object] = MappingProxyType({})) -> str:
        """Return the program's argument."""
        bucket = self.bucket
        s3 = {
            "url": f"s3://{bucket.name}/{self.name}",
            "endpoint_url": bucket.endpoint,
            "region": "us-east-1",
            "access_key": bucket.access,
            "secret_key": bucket.secret,
        }
        return json.dumps(
            {
                "name": self.name,
                "bootstrap": self.bootstrap,
                "max_records": self.max_records,
                "s3": s3,
                **others,
            }
        )

    def commits(self) -> list[Commit]:
        """Return the commits in the checkpoint, in the order of their batches."""
        storage = self.bucket.settings(self.name)
        checkpoint = Checkpoint.load(home_of(storage))
        (query,) = checkpoint.queries
        log = checkpoint.commits(query, storage.open())
        return [log.at(batch) for batch in log.batches()]

    def stop(self) -> None:
        """Stop the newest driver after its batch, as a supervisor does."""
        driver = self.drivers[-1]
        kill(driver.python, signal.SIGTERM)
        self.cluster.wait(lambda: not alive(driver.jvm), "the driver's end")
        assert driver.process.wait() == 0

    # ------------------------------------------------------------ results

    def wait_for_all(self) -> None:
        """Wait until every word of the input has its count."""
        expected, topic = sum(self._words.values()), totals(self.name).name
        self.cluster.wait(
            lambda: len(self._ids(topic)) >= expected,
            "all counts",
            during=self.drivers[-1].process if self.drivers else None,
        )

    def assert_exact(self) -> None:
        """Check that no record was lost or counted twice."""
        self.wait_for_all()
        counts: defaultdict[str, list[int]] = defaultdict(list)
        topic = totals(self.name)
        for record in self._once(topic.name):
            counts[topic.key.deserialize(record.key or b"")].append(
                topic.value.deserialize(record.value or b"")
            )
        assert {word: sorted(found) for word, found in counts.items()} == {
            word: list(range(1, number + 1)) for word, number in self._words.items()
        }
        self._assert_finals()

    def _assert_finals(self) -> None:
        topic, found = per_window(self.name), Counter[tuple[str, int]]()
        for record in self._once(topic.name):
            window = topic.key.deserialize(record.key or b"")
            assert (window.key, window.start_ms) not in found
            found[window.key, window.start_ms] = topic.value.deserialize(record.value or b"")
        now_ms = _START_MS + self._emitted * _STEP_MS
        closed_ms = now_ms - WINDOW_MS - 1000 * (GRACE_S + _SLACK_S)
        closed = {at: n for at, n in self._windows.items() if at[1] < closed_ms}
        assert {at: found[at] for at in closed} == closed
        assert {at: self._windows[at] for at in found} == found

    def _once(self, topic: str) -> list[RawRecord]:
        """Return the records of a topic, each id once, and check that copies are equal."""
        found: dict[bytes, RawRecord] = {}
        for record in self._read(topic):
            known = found.setdefault(_id_of(record), record)
            assert (known.key, known.value) == (record.key, record.value)
        return list(found.values())

    def _ids(self, topic: str) -> set[bytes]:
        return {_id_of(record) for record in self._read(topic)}

    def _read(self, topic: str) -> list[RawRecord]:
        with closing(self._kafka.admin()) as admin:
            ends = admin.end_offsets(topic)
        reader = self._kafka.reader()
        return [each for p, end in ends.items() for each in reader.read(topic, p, 0, end)]


def _id_of(record: RawRecord) -> bytes:
    value = dict(record.headers)["kstreams-id"]
    assert value is not None
    return value
