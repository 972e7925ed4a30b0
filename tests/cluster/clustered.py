"""An app on a cluster, from outside: its input, its drivers, and what it has written."""

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
from tests import word_counter
from tests.cluster import counting_app
from tests.cluster.counting_app import GRACE_S, WINDOW_MS, lines, per_window, totals

__all__ = ("ClusteredApp", "Driver")

PARTITIONS = 4
PROGRAM = "counting_app.py"
_WAIT_S = 300
_STEP_MS = 2
"""Of event time from line to line: what is emitted at once is less apart than the grace."""
_START_MS = 1_700_000_000_000
_SLACK_S = 1
"""Each task has seen a record of the last second."""


@dataclass(frozen=True)
class Driver:
    """A driver in client mode: a JVM that has started a Python."""

    machine: Machine
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def jvm(self) -> int:
        """The process of the JVM."""
        return self.process.pid

    @property
    def python(self) -> int:
        """The process of Python; one that it forks is called the same until it is another's."""
        called = {pid for pid in session(self.jvm) if pid != self.jvm and PROGRAM in command(pid)}
        (found,) = (pid for pid in called if parent(pid) not in called)
        return found

    @property
    def paused(self) -> bool:
        """Whether its Python stands still."""
        return state(self.python) == "T"

    def pause(self) -> None:
        """Stop the JVM of a driver whose Python stands still, as if the machine hung."""
        kill(self.jvm, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let both go on."""
        for pid in (self.jvm, self.python):
            kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """Wait until it has ended, of itself if a part of it was killed.

        Raises:
            AssertionError: It has not, with what it has told, and what its threads do.
        """
        try:
            self.process.wait(_WAIT_S)
        except subprocess.TimeoutExpired:
            for pid in session(self.jvm):  # their threads, into the log
                kill(pid, signal.SIGQUIT if pid == self.jvm else signal.SIGUSR1)
            sleep(2)
            told = self.log.read_text(errors="replace")[-40_000:]
            raise AssertionError(f"{self.machine.name} does not end:\n{told}") from None
        end_session(self.jvm)


@dataclass
class ClusteredApp:
    """One app: a name, its topics and where it keeps itself; drivers come and go.

    Args:
        name: Of the app, its topics and its prefix in the bucket.
        cluster: Where it runs.
        bootstrap: Of the broker.
        bucket: What it keeps is there.
        max_records: Of one batch.
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
        """Append so many lines, 2,000 at most; time goes on with them."""
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
            machine: Where; by default one that is new and empty.
            config: Settings of Spark's.
            options: The program's, besides the usual ones.
            environment: Variables that the driver alone has.
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
        """Put the program on a machine, and the module that it imports."""
        shutil.copy(str(counting_app.__file__), machine.path(PROGRAM))
        package = machine.path("tests")
        package.mkdir(exist_ok=True)
        package.joinpath("__init__.py").touch()
        shutil.copy(str(word_counter.__file__), package)

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
        """Return the commits that the checkpoint has, in the order of their batches."""
        storage = self.bucket.settings(self.name)
        checkpoint = Checkpoint.load(home_of(storage))
        (query,) = checkpoint.queries
        log = checkpoint.commits(query, storage.open())
        return [log.at(batch) for batch in log.batches()]

    def stop(self) -> None:
        """Let the newest driver stop after its batch, as a supervisor does."""
        driver = self.drivers[-1]
        kill(driver.python, signal.SIGTERM)
        self.cluster.wait(lambda: not alive(driver.jvm), "the driver's end")
        assert driver.process.wait() == 0

    # ------------------------------------------------------------ what it came to

    def wait_for_all(self) -> None:
        """Wait until every word of the input has its count."""
        expected, topic = sum(self._words.values()), totals(self.name).name
        self.cluster.wait(
            lambda: len(self._ids(topic)) >= expected,
            "all counts",
            during=self.drivers[-1].process if self.drivers else None,
        )

    def assert_exact(self) -> None:
        """Check that nothing was lost and nothing counted twice."""
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
        """Return a topic's records, each id once; copies of one are the same."""
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
