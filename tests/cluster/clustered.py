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

from devtools.processes import alive, command, session
from devtools.servers.machine import Machine
from devtools.servers.s3 import Bucket
from devtools.servers.spark_cluster import SparkCluster
from kstreams import Emitter, Kafka
from kstreams.connection import RawRecord
from tests.cluster import counting_app
from tests.cluster.counting_app import GRACE_S, WINDOW_MS, lines, per_window, totals

__all__ = ("PARTITIONS", "ClusteredApp")

PARTITIONS = 4
PROGRAM = "counting_app.py"
_STEP_MS = 2
"""Of event time from line to line: what is emitted at once is less apart than the grace."""
_START_MS = 1_700_000_000_000
_SLACK_S = 1
"""Each task has seen a record of the last second."""


@dataclass
class ClusteredApp:
    """One app: a name, its topics and where it keeps itself; drivers come and go.

    Args:
        name: Of the app, its topics and its prefix in the bucket.
        cluster: Where it runs.
        bootstrap: Of the broker.
        bucket: What it keeps is there.
        checkpoint: A directory that all machines see.
        max_records: Of one batch.
    """

    name: str
    cluster: SparkCluster
    bootstrap: str
    bucket: Bucket
    checkpoint: Path
    max_records: int = 400
    drivers: list[subprocess.Popen[bytes]] = field(default_factory=list)
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

    def start(self, machine: Machine, **config: str) -> subprocess.Popen[bytes]:
        """Submit a driver in client mode, and return its JVM."""
        self.install(machine)
        self.drivers.append(
            self.cluster.submit(machine, PROGRAM, self.options(), config=self._config(config))
        )
        return self.drivers[-1]

    def start_on_cluster(self, **config: str) -> None:
        """Submit a driver in cluster mode."""
        for worker in self.cluster.workers:
            self.install(worker.machine)
        self.cluster.submit_to_cluster(PROGRAM, self.options(), config=self._config(config))

    @staticmethod
    def install(machine: Machine) -> None:
        """Put the program on a machine."""
        shutil.copy(str(counting_app.__file__), machine.path(PROGRAM))

    def options(self) -> str:
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
                "checkpoint": str(self.checkpoint),
                "max_records": self.max_records,
                "s3": s3,
            }
        )

    @staticmethod
    def _config(given: Mapping[str, str]) -> dict[str, str]:
        return {f"spark.{name.replace('_', '.')}": text for name, text in given.items()}

    @property
    def python(self) -> int:
        """The Python process of the newest driver."""
        (found,) = (
            pid
            for pid in session(self.drivers[-1].pid)
            if PROGRAM in command(pid) and "SparkSubmit" not in command(pid)
        )
        return found

    def stop(self) -> None:
        """Let the newest driver stop after its batch, as a supervisor does."""
        kill(self.python, signal.SIGTERM)
        driver = self.drivers[-1]
        self.cluster.wait(lambda: not alive(driver.pid), "the driver's end")
        assert driver.wait() == 0

    # ------------------------------------------------------------ what it came to

    def wait_for_all(self) -> None:
        """Wait until every word of the input has its count."""
        expected, topic = sum(self._words.values()), totals(self.name).name
        self.cluster.wait(
            lambda: len(self._ids(topic)) >= expected,
            "all counts",
            during=self.drivers[-1] if self.drivers else None,
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
