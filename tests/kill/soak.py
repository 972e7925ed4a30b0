"""A soak test: kills at random moments for a long time, then exact results.

    python -m tests.kill.soak                 # 30 minutes
    python -m tests.kill.soak --minutes 2
    python -m tests.kill.soak --without-directory   # topics on Kafka, the checkpoint on S3 too

An app on a local cluster counts words, in total and by the second, sends them through a loop, and
looks them up in a global table, with RocksDB on its disk and its durable log on a real S3 server.
Driver, JVM, executors and Python workers are killed with SIGKILL, and the local state of a stopped
app is deleted now and then. Each kill prints a line. In the end, topics and stores hold each record
once, no word has found an older row than the word before, every object of the retained versions is
intact, and disk and objects are within limits that do not depend on the duration.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from devtools.processes import command, end_session, kill, session
from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket, S3Server
from kstreams import Emitter, View
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import RawRecord
from kstreams.errors import StoreError
from kstreams.state.log.durable import checked_object
from kstreams_s3 import S3
from kstreams_s3.store import S3ObjectStore
from tests.kill.counting_app import checkpoint
from tests.kill.killed_app import PARTITIONS, WORDS, KilledApp, by_word
from tests.kill.soak_app import (
    HOPS,
    RECENT,
    RETAINED,
    ROUNDS,
    durable_log,
    per_second,
    rows,
    seen,
)
from tests.support.apps.word_counter import COUNTS

_BETWEEN_SWEEPS = 50 + RETAINED
_TARGETS = ("driver", "jvm", "executor", "executor", "worker", "worker", "machine")
_COMMANDS = {
    "jvm": "deploy.SparkSubmit",
    "executor": "CoarseGrainedExecutorBackend",
    "worker": "pyspark.daemon",
}


OPEN_MS = 9_000
"""Windows that began this long before the last record accept more records, or may."""

Window = tuple[str, int]
"""A word, and the start of its window in ms."""


@dataclass(frozen=True)
class Left:
    """The sizes of an app's objects and files, without its topics.

    Attributes:
        objects: Number of objects in the durable log.
        local_bytes: Local state of all tasks.
        checkpoint_bytes: The checkpoint directory, including Spark's.
    """

    objects: int
    local_bytes: int
    checkpoint_bytes: int

    def __str__(self) -> str:
        local, checkpoint = self.local_bytes / 1e6, self.checkpoint_bytes / 1e6
        return f"{self.objects} objects, {local:.1f} MB local, {checkpoint:.1f} MB checkpoint"

    def largest(self, other: Left) -> Left:
        """Return the larger of each figure."""
        return Left(
            max(self.objects, other.objects),
            max(self.local_bytes, other.local_bytes),
            max(self.checkpoint_bytes, other.checkpoint_bytes),
        )


BOUND = Left(
    # For each task and batch, a delta, records in loops and, rarely, a merger; for each batch, a
    # commit; for the table's query, the same without a loop; and objects of killed attempts from
    # two hours of the app's time, which are two minutes.
    objects=round((3.6 * PARTITIONS + 2) * _BETWEEN_SWEEPS) + 150,
    # The state is small, so that missing clean-up shows within some 100 batches.
    local_bytes=4 << 20,
    checkpoint_bytes=2 << 20,
)


class SoakedVictim(KilledApp):
    """The app of the soak test."""

    module = "tests.kill.soak_app"

    def __init__(self, folder: Path, log: dict[str, str], bootstrap: str | None = None) -> None:
        (folder / "s3.json").write_text(json.dumps(log))
        self._log: S3ObjectStore = S3(**log).open()  # type: ignore[arg-type]  # texts all
        far = None if bootstrap is None else {**log, "url": f"{log['url']}-checkpoint"}
        super().__init__(folder, bootstrap, far)
        self.per_second = per_second(folder.name)
        self.rows, self.seen = rows(folder.name), seen(folder.name)
        for topic in (self.per_second.name, self.rows.name, self.seen.name):
            forever = {} if bootstrap is None else {"retention.ms": "-1"}  # old event times
            self.connection.admin().create(topic, PARTITIONS, config=forever)
        self.row = 0
        self.change_rows()

    def change_rows(self) -> None:
        """Write the next row of the global table for all words."""
        self.row += 1
        with Emitter(self.rows, self.connection) as emitter:
            emitter.emit_many((word, self.row) for word in WORDS)

    def committed(self) -> int:
        """Return the newest committed batch, or -1 before any."""
        stems = (Path(name).stem for name in self._log.list("commits/"))
        return max((int(stem) for stem in stems if stem != "begin"), default=-1)

    def left(self) -> Left:
        """Return the current sizes."""
        return Left(
            sum(1 for _ in self._log.list("")),
            _size(self.folder / "local"),
            _size(self.folder / "checkpoint"),
        )

    def read(self, name: str) -> list[RawRecord]:
        """Return the records of a topic, without the copies that replays have written to Kafka."""
        found: dict[object, RawRecord] = {}
        for number, record in enumerate(super().read(name)):
            found.setdefault(dict(record.headers).get("kstreams-id") or number, record)
        return list(found.values())

    def last_windows(self) -> dict[Window, int]:
        """Return the last result of each window in the topic."""
        topic = self.per_second
        found = {}
        for record in self.read(topic.name):
            assert record.key is not None
            assert record.value is not None
            window = topic.key.deserialize(record.key)
            found[window.key, window.start_ms] = topic.value.deserialize(record.value)
        return found

    def seen_rows(self) -> dict[str, list[int]]:
        """Return the rows found for each word, in order."""
        return by_word(self.read(self.seen.name))

    def damaged(self) -> list[str]:
        """Return the problems of objects of the retained versions."""
        found, wrong = Checkpoint.load(home_of(checkpoint(self.folder))), []
        for query in found.queries:
            log = found.commits(query, self._log)
            pointers = [p for batch in log.batches() for p in log.at(batch).pointers().values()]
            for ref in {ref for pointer in pointers for ref in pointer.objects()}:
                try:
                    checked_object(self._log, ref)
                except StoreError as exc:
                    wrong.append(str(exc))
        return wrong

    def lose(self, target: str, random: Random) -> None:
        """Kill a process of a kind at random, and restart it if necessary."""
        if target in ("driver", "jvm", "machine"):
            kill(self.driver if target != "jvm" else random.choice(self._pids("jvm")))
            self.wait(lambda: not self._driver_runs(), "the driver's end", running=False)
            end_session(self.driver)
            if target == "machine":
                shutil.rmtree(self.folder / "local", ignore_errors=True)
            self.start()
        elif found := self._pids(target):
            with suppress(ProcessLookupError):
                kill(random.choice(found))

    def _pids(self, target: str) -> list[int]:
        return [pid for pid in session(self.driver) if _COMMANDS[target] in command(pid)]

    def _driver_runs(self) -> bool:
        assert self._process is not None
        return self._process.poll() is None


def _size(folder: Path) -> int:
    """Return the bytes of all files in a folder, with hard links counted once."""
    found: dict[int, int] = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            stat = path.lstat()
            found[stat.st_ino] = stat.st_size
    return sum(found.values())


@dataclass
class Soak:
    """A run: kills until the time is over, then the checks."""

    killed_app: SoakedVictim
    random: Random
    kills: Counter[str] = field(default_factory=Counter)
    most: Left = Left(0, 0, 0)
    began: float = field(default_factory=time.monotonic)

    def run(self, seconds: float) -> bool:
        """Run the soak test; return whether all checks pass."""
        self.killed_app.start()
        self.killed_app.advance()
        while time.monotonic() - self.began < seconds:
            self._kill()
        self.killed_app.emit()
        self.killed_app.finish()
        return self._verdict()

    def _kill(self) -> None:
        killed_app, target = self.killed_app, self.random.choice(_TARGETS)
        killed_app.change_rows()
        # about as much as is committed until the next kill
        killed_app.emit(self.random.uniform(0.3, 2))
        time.sleep(self.random.uniform(0, 3))  # the moment of the kill is random
        before = killed_app.committed()
        killed_app.lose(target, self.random)
        self.kills[target] += 1
        killed_app.emit(0.5)
        killed_app.wait(lambda: killed_app.committed() > before, "the next commit")
        self._look(f"{target} killed")

    def _look(self, what: str) -> None:
        left = self.killed_app.left()
        self.most = self.most.largest(left)
        minutes = (time.monotonic() - self.began) / 60
        say(
            f"{minutes:5.1f} min, {self.kills.total():3} kills, "
            f"batch {self.killed_app.committed():4}: "
            f"{what}; {left}"
        )

    def _verdict(self) -> bool:
        killed_app = self.killed_app
        self._look("ended")
        expected = killed_app.expected()
        windows = killed_app.expected_windows()
        place, log = checkpoint(killed_app.folder), durable_log(killed_app.folder)
        with View(place, COUNTS, log=log) as view, View(place, RECENT, log=log) as recent:
            state = dict(view.items())
            kept = {(key.key, key.start_ms): count for key, count in recent.fetch_all()}
        with View(place, ROUNDS, log=log) as view:
            rounds = dict(view.items())
        totals = {word: len(counts) for word, counts in expected.items()}
        checks = {
            "the topic lacks or repeats results": by_word(killed_app.results()) == expected,
            "the store is not what the records make": state == totals,
            "a loop lacks or repeats words": rounds
            == {word: (HOPS + 1) * total for word, total in totals.items()},
            "words have found no rows, or older ones": self._rise(killed_app.seen_rows(), totals),
            "the last results of windows are not what they hold": killed_app.last_windows()
            == windows,
            "the window store is not what is still open": self._still_open(windows, kept),
            "objects of retained versions are damaged": not killed_app.damaged(),
            "more is left than the bounds": self.most.largest(BOUND) == BOUND,
        }
        wrong = "; ".join(what for what, well in checks.items() if not well)
        kills = ", ".join(f"{number} of {target}" for target, number in self.kills.most_common())
        say(f"killed: {kills}")
        words = sum(totals.values())
        say(f"after {self.kills.total()} kills, {words} words: {wrong or 'all is well'}")
        say(f"at most {self.most}; the bounds are {BOUND}")
        return not wrong

    def _rise(self, seen: Mapping[str, list[int]], totals: Mapping[str, int]) -> bool:
        """Return whether each word has found a row each time, and none older than before."""
        return {word: len(found) for word, found in seen.items()} == totals and all(
            found == sorted(found) and found[0] > 0 and found[-1] <= self.killed_app.row
            for found in seen.values()
        )

    def _still_open(self, windows: Mapping[Window, int], kept: Mapping[Window, int]) -> bool:
        """Return whether a store has all open windows, and none that closed long ago."""
        latest = max(start for _, start in windows)
        held = {window: n for window, n in windows.items() if window[1] >= latest - OPEN_MS}
        limit = latest - 10 * OPEN_MS
        return held.items() <= kept.items() <= windows.items() and all(
            start >= limit for _, start in kept
        )


def say(line: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--without-directory", action="store_true", help="share S3 and Kafka alone")
    parser.add_argument("--seed", type=int, default=1, help="another one kills otherwise")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="soak-"))
    with S3Server(home / "s3") as server, ExitStack() as stack:
        bootstrap = None
        if options.without_directory:
            bootstrap = stack.enter_context(KafkaBroker(home / "kafka")).bootstrap
        Bucket(server.url, "soak")
        folder = home / "app"
        folder.mkdir()
        log = {
            "url": "s3://soak/log",
            "endpoint_url": server.url,
            "region": "us-east-1",
            "access_key": ACCESS_KEY,
            "secret_key": SECRET_KEY,
        }
        killed_app = SoakedVictim(folder, log, bootstrap)
        try:
            well = Soak(killed_app, Random(options.seed)).run(60 * options.minutes)
        finally:
            killed_app.end()
    if not well:
        raise SystemExit(f"the app's files are in {home}")
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
