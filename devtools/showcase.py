"""An app that never ran, with all the files of a real one, for screenshots and tests of web pages.

Its commits, stores, savepoints, reports and failures are written as an app writes them, without
Spark. Numbers are random but the same each time; times are relative to now.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kstreams import INT64, TEXT, DeadLetter, Topic, Topology, TopologyBuilder
from kstreams.batch.messages.latency import LATENCY_BOUNDS_MS, Latency
from kstreams.batch.report import AppState, BatchReport, TaskReport
from kstreams.call_site import CallSite
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import FakeClock
from kstreams.embedded.connection import Embedded
from kstreams.ids import TaskId, TopicPartition
from kstreams.operators import filter_
from kstreams.partitioner import partition_of
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.totals import NodeCounts, PartitionCounts, Totals, summed
from kstreams.state.log.traffic import Traffic
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.window.kind import window_store
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.progress.drop_sample import DropSample
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.telemetry.failures import Failure
from kstreams.telemetry.formats import FAILURES, LIVE, MINUTES, TOPOLOGY, to_bytes
from kstreams.telemetry.live import Live, LiveQuery
from kstreams.telemetry.minutes import MINUTE_MS, Minute
from kstreams.telemetry.outline import Outline
from kstreams.telemetry.report_lines import reports_name, to_line
from kstreams.telemetry.unread import Unread
from kstreams.windowed import Windowed

__all__ = ("LETTERS", "Names", "Showcase")

LETTERS = "lines-dead"
"""The dead letter topic of the app."""

_PAST_MINUTES = 360
_EACH_MINUTES = 5
_BATCH_MS = 2_000
_RUN = "9f0c41d2a7b3"
_WORDS = re.findall(
    r"\w+",
    "the of and a to in is you that it he was for on are as with his they at be this from have or "
    "by one had not but what all were when we there can an your which their said if do will each",
)


@dataclass(frozen=True)
class Names:
    """Names of the app's parts, and the texts in its records and errors."""

    app: str = "word-count"
    source: str = "lines"
    split: str = "split"
    edge: str = "by-word"
    count: str = "count"
    trend: str = "trend"
    sink: str = "totals"
    counts: str = "counts"
    windows: str = "per-minute"
    reason: str = "late"
    savepoint: str = "before-upgrade"
    worker: str = "worker-2/4711"
    error: str = "ValueError: invalid literal for int() with base 10: 'twelve'"
    words: tuple[str, ...] = tuple(_WORDS)
    file: str = "words.py"


@dataclass
class Showcase:
    """An app in a directory.

    Args:
        path: The checkpoint.
        now_ms: The current time, ms since the epoch.
        names: The names of the app's parts.
        partitions: The number of partitions of each group.
        recorded: Whether the app has written more than its commits.
    """

    path: Path
    now_ms: int
    names: Names = field(default_factory=Names)
    partitions: int = 4
    recorded: bool = True

    def __post_init__(self) -> None:
        """Create the checkpoint, the stores and the initial pointers."""
        names = self.names
        self.store: StoreSpec[Any] = key_value_store(names.counts, key=TEXT, value=INT64)
        self.windows: StoreSpec[Any] = window_store(names.windows, key=TEXT, value=INT64)
        self.topology = self._topology()
        tasks = {names.source: self.partitions, names.edge: self.partitions}
        home = home_of(self.path)
        self.checkpoint = Checkpoint.open(home, names.app, self.topology, tasks=tasks)
        self.objects = self.checkpoint.log.open()
        self.query = next(iter(self.checkpoint.queries))
        self._files = home.telemetry()
        self.connection = Embedded(self.path / "topics", durable=False)
        self._drawn = random.Random(7)  # noqa: S311  # not for secrets
        self._pointers = {
            TaskId(group, place): Pointer.empty()
            for group in tasks
            for place in range(self.partitions)
        }
        self._counts: dict[str, int] = {}
        self._totals: dict[str, NodeCounts] = {}
        self._positions = {TopicPartition("lines", p): 0 for p in range(self.partitions)}
        self.batch = -1

    def _topology(self) -> Topology:
        names = self.names
        builder = TopologyBuilder(names.app)
        topic = Topic("lines", TEXT, INT64)
        lines = builder.add_source(names.source, topic, on_error=DeadLetter(LETTERS))
        with builder.origin(CallSite(names.file, 12)):
            words = builder.add_processor(names.split, filter_(_any), lines)
        moved = builder.repartition(names.edge, words, key=TEXT, value=INT64)
        with builder.origin(CallSite(names.file, 14)):
            counted = builder.add_processor(names.count, filter_(_any), moved, stores=[self.store])
        builder.add_processor(names.trend, filter_(_any), moved, stores=[self.windows])
        builder.add_sink(names.sink, Topic("totals", TEXT, INT64), counted)
        return builder.build()

    @property
    def specs(self) -> dict[str, StoreSpec[Any]]:
        """The specs of its stores, by name."""
        return {self.store.name: self.store, self.windows.name: self.windows}

    def run(self, batches: int = 40) -> Showcase:
        """Commit batches up to now, and write the reports of an app about them."""
        begun = self.now_ms - batches * _BATCH_MS + _BATCH_MS // 2
        for number in range(batches):
            self.commit(begun + number * _BATCH_MS)
            if number == batches // 2:
                Savepoints(self.checkpoint, self.objects).create(
                    self.names.savepoint, FakeClock(begun + number * _BATCH_MS)
                )
        if self.recorded:
            tasks = {group.name: self.partitions for group in self.topology.groups}
            self._files.replace(TOPOLOGY, to_bytes(Outline.of(self.topology, tasks).to_json()))
            self._minutes(begun)
            self.beat(AppState.RUNNING)
        return self

    # ------------------------------------------------------------ batches

    def commit(self, wall_ms: int) -> None:
        """Commit a batch."""
        self.batch += 1
        words = self._drawn.choices(self.names.words, k=60 + 20 * (self.batch % 7))
        for word in words:
            self._counts[word] = self._counts.get(word, 0) + 1
        changed = set(words)
        start = wall_ms // 60_000 * 60_000

        def change(store: Any, windows: Any, partition: int) -> None:
            for word in sorted(changed):
                if partition_of(word.encode(), self.partitions) == partition:
                    store.put(word, self._counts[word])
                    windows.put(Windowed(word, start, start + 60_000), words.count(word))

        for partition in range(self.partitions):
            self._change(TaskId(self.names.edge, partition), wall_ms, change)
        lines = self._read(wall_ms)
        report = self._report(wall_ms, lines, len(words) * 40)
        self._totals = summed([self._totals, report.nodes])
        totals = Totals(
            self._totals,
            {
                self.names.source: {
                    place: PartitionCounts(offset) for place, offset in self._positions.items()
                }
            },
        )
        self.checkpoint.commits(self.query, self.objects).append(
            Commit(
                self.batch,
                _RUN,
                wall_ms,
                {task: pointer.to_json() for task, pointer in self._pointers.items()},
                positions=dict(self._positions),
                fingerprint=self.topology.fingerprint(),
                totals=totals if self.recorded else None,
            )
        )
        if self.recorded:
            line = to_bytes(to_line(report))
            self._files.append(reports_name(self.query), [line])

    def _change(self, task: TaskId, wall_ms: int, change: Any) -> None:
        names = sorted(self.specs)
        key = self.checkpoint.task_key(self.query, task)
        home = self.path / "queries" / "local"
        versions = TaskVersions(Memory(), home, self.objects, key, names)
        attempt = Attempt(new_attempt(), self.batch)
        with versions.checkout(self._pointers[task], attempt) as checkout:
            overlay = Overlay(checkout.store)
            change(self.store.open(overlay), self.windows.open(overlay), task.partition)
            late = 42_000 if task.partition == 2 else self._drawn.randrange(400)
            meta = TaskMeta(stream_time=wall_ms - 300 - late)
            self._pointers[task] = checkout.commit(overlay.changes(), meta.to_json())

    def _read(self, wall_ms: int) -> int:
        read = 0
        for place, offset in self._positions.items():
            count = 40 + self._drawn.randrange(60) if place.partition != self.partitions - 1 else 35
            self._positions[place] = offset + count
            read += count
            task = TaskId(self.names.source, place.partition)
            own = {place: offset + count}
            time = wall_ms - 200 - self._drawn.randrange(300)
            meta = TaskMeta(stream_time=time, next_offsets=own)
            self._pointers[task] = self._pointers[task].with_meta(meta.to_json())
        return read

    def _report(self, wall_ms: int, lines: int, words: int) -> BatchReport:
        names, drawn = self.names, self._drawn
        late = 3 if self.batch % 4 == 0 else 0
        drops = {names.reason: late} if late else {}
        tasks = []
        for task in sorted(self._pointers):
            busy = 0.06 + 0.05 * drawn.random() + (0.3 if task.partition == 3 else 0)
            is_first = task.group == names.source
            nodes = {names.split: 0.7} if is_first else {names.count: 0.72, names.trend: 0.2}
            share = 0.35 if is_first else 1.0
            parts = {"read": 0.2, "process": 0.55, "write": 0.15, "commit": 0.1}
            tasks.append(
                TaskReport(
                    task,
                    (lines if is_first else words) // self.partitions,
                    {name: part * busy * share for name, part in parts.items()},
                    0 if is_first else 2_000 + drawn.randrange(1_500),
                    names.worker,
                    2 if self.batch % 13 == 5 and task.partition == 1 else 1,
                    self.batch == 0 and not is_first,
                    {name: part * busy * share for name, part in (*nodes.items(), ("", 0.2))},
                )
            )
        job = 0.35 + 0.2 * drawn.random()
        phases = {"plan": 0.004, "job": job, "commit": 0.02, "publish": 0.045}
        seconds = sum(phases.values())
        wait = _BATCH_MS / 1000 - seconds if self.batch else 0.0
        counts = [0] * (len(LATENCY_BOUNDS_MS) + 1)
        counts[6:9] = [lines // 5, lines // 2, lines // 3]
        place = TopicPartition("lines", 3 % self.partitions)
        samples = [DropSample(names.count, names.reason, place, self._positions[place] - 7)]
        return BatchReport(
            self.query,
            self.batch,
            records=lines + words,
            source_records=lines,
            dropped=drops,
            published=4,
            seconds=seconds,
            backlog=sum(self.left().values()),
            log=Traffic(5, 13_789, 1, 900, 0, 0),
            nodes={
                names.source: NodeCounts(lines, lines),
                names.split: NodeCounts(lines, words),
                names.edge: NodeCounts(words, words),
                names.count: NodeCounts(
                    words, words - late, 0, {names.reason: late} if late else {}
                ),
                names.trend: NodeCounts(words, 0),
                names.sink: NodeCounts(words - late, words - late),
            },
            committed_ms=wall_ms,
            phases={"wait": wait, **phases},
            tasks=tuple(tasks),
            lag=self.left(),
            latency=Latency(tuple(counts), 400 * lines),
            samples=tuple(samples) if late else (),
        )

    def left(self) -> dict[TopicPartition, int]:
        """Return the number of unread records in each partition."""
        last = self.partitions - 1
        return {
            place: 100 + 80 * self.batch
            if place.partition == last
            else 40 + 7 * place.partition % 60
            for place in self._positions
        }

    # ------------------------------------------------------------ other files

    def beat(self, state: AppState, written_ms: int | None = None) -> None:
        """Write the current state of the app."""
        written_ms = self.now_ms if written_ms is None else written_ms
        left = self.left()
        partitions = {
            place: Unread(offset, offset + left[place], written_ms - 1000 - 40 * left[place])
            for place, offset in self._positions.items()
        }
        query = LiveQuery(
            self.batch + 1, "job", written_ms - 210, self.batch, partitions, written_ms - 900
        )
        live = Live(
            self.names.app, _RUN, state.value, written_ms - 7_260_000, written_ms, 1000,
            version="0.9.0", queries={self.query: query},
        )  # fmt: skip
        self._files.replace(LIVE, to_bytes(live.to_json()))

    def _minutes(self, until_ms: int) -> None:
        """Write reports for the time before the first commit: drops, with more in a few minutes."""
        names, drawn = self.names, self._drawn
        lines = []
        for back in range(_PAST_MINUTES, 0, -_EACH_MINUTES):
            start = (until_ms // MINUTE_MS - back) * MINUTE_MS
            late, unread = drawn.randrange(40) + 200 // (1 + abs(back - 150)), drawn.randrange(3)
            nodes = {
                names.count: NodeCounts(9_000, 9_000 - late, 0, {names.reason: late}),
                names.source: NodeCounts(
                    9_000, 9_000 - unread, 0, {"dead-letter-ValueError": unread}
                ),
            }
            minute = Minute(self.query, start, 30, 9_000, 4_000, nodes=nodes)
            lines.append(to_bytes(minute.to_json()))
        self._files.append(MINUTES, lines)

    def set_aside(self, count: int) -> None:
        """Write dead letters."""
        names = self.names
        writer = self.connection.writer()
        for number in range(count):
            word = names.words[number % len(names.words)]
            said = {"class": "ProcessingError", "message": names.error, "node": names.split,
                    "topic": "lines", "partition": number % self.partitions,
                    "offset": 1_902 + 7 * number}  # fmt: skip
            headers = tuple(
                (f"kstreams-error-{name}", str(text).encode()) for name, text in said.items()
            )
            writer.write(
                LETTERS, 0, word.encode(), f"{word} twelve".encode(),
                self.now_ms - 60_000 * (count - number), headers,
            )  # fmt: skip
        writer.flush()
        writer.close()

    def fail(self, ms: int) -> None:
        """Write a failure of the app."""
        failure = Failure(
            ms, _RUN, "ProcessingError", "builtins.ValueError", self.names.error,
            "fix the processor, or let it drop such records: on_error=...",
            {"group": self.names.source, "node": self.names.split, "topic": "lines",
             "partition": 3, "offset": 1902},
        )  # fmt: skip
        self._files.append(FAILURES, [to_bytes(failure.to_json())])


def _any(key: str, value: int) -> bool:
    return True
