"""One run of an app over many kills: start, wait, kill, restart, check the results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.processes import alive, ancestor, command, end_session, kill, session
from devtools.spark_home import spark_home
from kstreams import INT64, TEXT, Emitter, View
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import Connection, RawRecord
from kstreams.state import Memory
from kstreams.state.log.directory import Directory
from kstreams_admin.changelog_restore import ChangelogRestore
from tests.kill.counting_app import MAX_RECORDS, build, checkpoint, connection, once, topics
from tests.kill.looping_app import HOPS
from tests.kill.looping_app import build as build_looping
from tests.support.apps.word_counter import COUNTS
from tests.support.processes.batch_barriers import Barriers

__all__ = ("Kill", "KilledApp", "LoopingApp", "by_word")

ROOT = Path(__file__).parents[2]
WAIT_S = 300.0
"""Timeout for expected events; only a failure takes this long."""

PARTITIONS = 2
WORDS = ("a", *(f"b{n}" for n in range(7)), *(f"c{n}" for n in range(31)))
"""All words of the input."""
_PLAN = re.compile(r"/(\d{12})\.json")
_START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Kill:
    """A kill: its target and the state of the app before and after.

    Attributes:
        target: driver, jvm, executor or worker.
        phase: The barrier at which the target, or a process below it, was held.
        began: The newest planned batch.
        noted: The newest batch that is noted as done.
        committed: The newest batch in the app's commit log.
        back_s: Seconds until the app had committed the unfinished batch.
    """

    target: str
    phase: str
    began: int
    noted: int
    committed: int
    back_s: float

    @property
    def before_commit(self) -> bool:
        """Return whether a batch had begun and was not committed."""
        return self.began > self.committed

    def __str__(self) -> str:
        return (
            f"{self.target:9} {self.phase:10} began {self.began:3}  committed "
            f"{self.committed:3}  noted {self.noted:3}  back after {self.back_s:5.1f} s"
        )


class KilledApp:
    """A folder with an app in it, and the app's processes.

    Args:
        folder: An empty folder; its name is part of the topics' names.
        bootstrap: Address of a Kafka broker; None for embedded topics.
        on_s3: Settings of a checkpoint on S3; a directory by default.
        exactly_once: Whether the app writes to Kafka exactly once.

    Attributes:
        module: The program, which gets the folder, and the address of the broker.
        build: Makes its topology from the folder's name.
    """

    module = "tests.kill.counting_app"
    build = staticmethod(build)

    def __init__(
        self,
        folder: Path,
        bootstrap: str | None = None,
        on_s3: Mapping[str, str] | None = None,
        *,
        exactly_once: bool = False,
    ) -> None:
        self.folder = folder
        if exactly_once:
            once(folder).touch()
        if on_s3 is not None:
            (folder / "checkpoint.json").write_text(json.dumps(on_s3))
        self.bootstrap = bootstrap
        self.barriers = Barriers(str(folder / "barriers"))
        Path(self.barriers.folder).mkdir()
        self.connection: Connection = connection(folder, bootstrap)
        self.lines, self.totals = topics(folder.name)
        admin = self.connection.admin()
        forever = {} if bootstrap is None else {"retention.ms": "-1"}  # old event times
        for topic in (self.lines, self.totals):
            admin.create(topic.name, PARTITIONS, config=forever)
        admin.close()
        self._counted: Counter[str] = Counter()
        self._by_second: Counter[tuple[str, int]] = Counter()
        self._emitted = 0
        self._home = spark_home(folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []

    # ------------------------------------------------------------ input and processes

    def emit(self, batches: float = 1) -> None:
        """Append enough records for some batches."""
        count = int(MAX_RECORDS * batches)
        texts = [f"a b{n % 7} c{n % 31} a" for n in range(self._emitted, self._emitted + count)]
        self.append(texts)
        for number, text in enumerate(texts, self._emitted):
            second = (_START_MS + number) // 1000 * 1000
            self._by_second.update((word, second) for word in text.split())
        self._emitted += count
        self._counted.update(word for text in texts for word in text.split())

    def append(self, texts: Sequence[str]) -> None:
        """Append texts to the source."""
        with Emitter(self.lines, self.connection) as emitter:
            for number, text in enumerate(texts, self._emitted):
                emitter.emit(b"%d" % number, text, timestamp=_START_MS + number)

    def advance(self) -> None:
        """Append some records, and wait for a commit."""
        before = self.committed()
        self.emit()
        self.wait(lambda: self.committed() > before, "the next commit")

    def start(self) -> None:
        """Start the app on its existing files."""
        paths = (ROOT, ROOT / "connectors", ROOT / "stores", ROOT / "serdes")
        with (self.folder / "output").open("a") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.module, str(self.folder)]
                + ([] if self.bootstrap is None else [self.bootstrap]),
                cwd=self.folder,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(map(str, paths)),
                    "SPARK_HOME": str(self._home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._sessions.append(self._process.pid)

    def start_beside(self) -> subprocess.Popen[bytes]:
        """Start the app again while it runs, as on a file system without locks; return the older
        process.

        From here on, the newer process is the app.
        """
        assert self._process is not None
        older = self._process
        (self.folder / "checkpoint" / "lock").unlink(missing_ok=True)
        self.start()
        return older

    @property
    def driver(self) -> int:
        """The driver's process."""
        assert self._process is not None
        return self._process.pid

    def jvm(self) -> int:
        """The driver's JVM."""
        (found,) = (pid for pid in session(self.driver) if "deploy.SparkSubmit" in command(pid))
        return found

    def finish(self) -> None:
        """Let the app process all input and stop by itself."""
        (self.folder / "finish").touch()
        assert self._process is not None
        self.wait(lambda: not alive(self.driver), "the app's end", running=False)
        assert self._process.wait() == 0, self.tail()
        self.wait(lambda: not self._running(), "the end of all its processes", running=False)

    def _running(self) -> list[int]:
        return [pid for leader in self._sessions for pid in session(leader)]

    def end(self) -> None:
        """End all running processes."""
        for leader in self._sessions:
            while end_session(leader):
                time.sleep(0.05)
        if self._process is not None:
            self._process.wait()

    # ------------------------------------------------------------ kills

    def strike(self, target: str, phase: str) -> Kill:
        """Hold the app in a phase of a batch, kill a part of it, and wait for its recovery."""
        seen = len(self.barriers.held(phase))
        self.barriers.close(phase)
        self.emit()
        self.wait(lambda: len(self.barriers.held(phase)) > seen, f"phase {phase}")
        kill(self._pid_of(target, self.barriers.held(phase)[seen]))
        began, noted, committed = self._logs()
        self.barriers.open(phase)
        at = time.monotonic()
        if target in ("driver", "jvm"):
            self.await_driver()
            if target == "jvm":
                assert "ExecutionError: Spark's JVM has ended" in self.tail()
            self.start()
        self.emit(0.5)
        self.wait(lambda: self._logs()[2] > began, "the next batch")
        return Kill(target, phase, began, noted, committed, time.monotonic() - at)

    def await_driver(self) -> None:
        """Wait until the driver has ended, by itself if need be, and has failed."""
        assert self._process is not None
        self.wait(lambda: not alive(self.driver), "the driver's end", running=False)
        assert self._process.wait() != 0

    def _pid_of(self, target: str, held: int) -> int:
        match target:
            case "driver":
                return self.driver
            case "jvm":
                return self.jvm()
            case "executor":
                return ancestor(held, "CoarseGrainedExecutorBackend")
            case _:
                assert "pyspark.daemon" in command(held)
                return held

    def _logs(self) -> tuple[int, int, int]:
        """Return the newest planned batch, the newest one noted as done, and the newest committed
        one.

        Where nothing is noted, a batch counts as noted with its commit.
        """
        place, committed = checkpoint(self.folder), self.committed()
        if not isinstance(place, Path):
            plans = map(_PLAN.search, place.open().list("plans/"))
            return max((int(m[1]) for m in plans if m), default=-1), committed, committed
        queries = self.folder / "checkpoint" / "queries"
        planned = (f.stem for f in queries.glob("*/plans/*.json"))
        noted = (f.name for f in queries.glob("*/done/*"))
        return _newest(planned), _newest(noted), committed

    def committed(self) -> int:
        """Return the newest committed batch, or -1 before any."""
        return _newest(f.stem for f in (self.folder / "log" / "commits").glob("*/*[0-9].json"))

    # ------------------------------------------------------------ results

    def results(self) -> list[RawRecord]:
        """Return all records of the sink, each partition in order."""
        return self.read(self.totals.name)

    def read(self, name: str) -> list[RawRecord]:
        """Return all records of a topic, each partition in order."""
        admin, reader = self.connection.admin(), self.connection.reader()
        found = [
            record
            for partition, end in admin.end_offsets(name).items()
            for record in reader.read(name, partition, 0, end)
        ]
        admin.close()
        return found

    def expected(self) -> dict[str, list[int]]:
        """Return the expected records of the sink: all counts of each word, in order."""
        return {word: list(range(1, n + 1)) for word, n in self._counted.items()}

    def expected_store(self) -> dict[str, int]:
        """Return the expected contents of the store."""
        return {word: counts[-1] for word, counts in self.expected().items()}

    def rebuilt(self) -> dict[str, int]:
        """Delete the store's objects, rebuild it from its changelog, and return its contents."""
        place, log = checkpoint(self.folder), Directory(str(self.folder / "log"))
        found, objects = Checkpoint.load(home_of(place)), log.open()
        for query in found.queries:
            last = found.commits(query, objects).last()
            assert last is not None
            objects.delete(ref.name for p in last.pointers().values() for ref in p.objects())
        topology = type(self).build(self.folder.name)
        job = ChangelogRestore(found, topology, self.connection, Memory(), objects, "rebuild")
        job.run_all(job.stores(), lambda _: None)
        with View(place, COUNTS, log=log) as view:
            return dict(view.items())

    def expected_windows(self) -> dict[tuple[str, int], int]:
        """Return the expected number of each word, by the second of its occurrence (ms)."""
        return dict(self._by_second)

    # ------------------------------------------------------------ waiting

    def wait(self, reached: Callable[[], bool], what: str, *, running: bool = True) -> None:
        """Wait for a condition; fail after a timeout, or if the app ends before."""
        deadline = time.monotonic() + WAIT_S
        while not reached():
            if running:
                assert alive(self.driver), f"the app ended before {what}:\n{self.tail()}"
            assert time.monotonic() < deadline, f"{what} did not come:\n{self.tail()}"
            time.sleep(0.05)

    def tail(self) -> str:
        """Return the last lines of the app's output, without Java's stacks."""
        lines = (self.folder / "output").read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if not line.startswith("\tat ")][-60:])


class LoopingApp(KilledApp):
    """An app in which each word passes a loop several times, and counts each time."""

    module = "tests.kill.looping_app"
    build = staticmethod(build_looping)

    def expected(self) -> dict[str, list[int]]:
        """Return the expected records of the sink: all counts of each word, in order."""
        counted = super().expected()
        return {word: list(range(1, (HOPS + 1) * len(n) + 1)) for word, n in counted.items()}


def _newest(numbers: Iterable[str]) -> int:
    """Return the greatest of the names that are numbers, or -1 if there is none."""
    return max((int(name) for name in numbers if name.isdigit()), default=-1)


def by_word(records: Iterable[RawRecord]) -> dict[str, list[int]]:
    """Return the counts of each word, in the order of the topic."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for record in records:
        assert record.key is not None
        assert record.value is not None
        found[TEXT.deserialize(record.key)].append(INT64.deserialize(record.value))
    return dict(found)
