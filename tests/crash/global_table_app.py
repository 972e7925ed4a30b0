"""The app for crash tests of global tables: one query fills a table, another one reads it."""

from __future__ import annotations

from datetime import timedelta

from kstreams import (
    TEXT,
    Emitter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.batch import query_driver
from kstreams.joins import left
from kstreams.state.backend.task_key import table_copies
from tests.support.crash.faults import FaultySharingBackend
from tests.support.crash.harness import Harness
from tests.support.crash.leftover_checks import check_litter
from tests.support.crash.loop_app import VISITS
from tests.support.crash.marking_app import IN, KEYS, OUT, PARTITIONS

__all__ = ("FILLS", "READS", "GlobalHarness")

NAMES = Topic("names", TEXT, TEXT)
TABLE = timestamped_store("table", key=TEXT, value=TEXT)
FILLS, READS = "names.source", "words"
"""The two queries."""

_KEPT = 2
_MORE = 3
"""Versions written while a reading batch is dead: more than are kept."""


class CountVisits(FixedKeyProcessor[str, str, str]):
    """Numbers the records of each key."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.visits = context, context.store(VISITS)

    def process(self, record: Record[str, str]) -> None:
        count = (self.visits.get(record.key) or 0) + 1
        self.visits.put(record.key, count)
        self.context.forward(record.with_value(f"{record.value}:{count}"))


def broadcasting() -> Topology:
    """Build words -> join of the global table names -> visits -> marks."""
    builder = TopologyBuilder("marking")
    names = builder.add_global_table("names", NAMES, store=TABLE)
    joined = builder.join_global(
        "join",
        builder.add_source("words", IN),
        names,
        left(lambda word, name: f"{word}={name}"),
        by=lambda key, _: KEYS[-1 - KEYS.index(key)],
    )
    visits = builder.add_processor("visits", CountVisits, joined, stores=[VISITS])
    builder.add_sink("marks", OUT, visits)
    return builder.build()


class GlobalHarness(Harness):
    """An app whose batches read the global table at the version of their plan.

    After a reading batch has died, the table advances, and old versions are deleted.
    """

    _is_reading = False

    def build(self) -> Topology:
        """Return the topology under test."""
        self._patch.setattr(query_driver, "_SWEEP_EVERY", 1)
        self.connection.log().ensure(NAMES.name, PARTITIONS)
        return broadcasting()

    def batch(self) -> None:
        """Fill the table, then let a batch read it."""
        self.fill()
        self.read()

    def fill(self) -> None:
        """Write all rows of the table, and run until that is committed."""
        label = f"row-{len(self.input)}"
        self.input.append(("fill", label))
        self.clock.advance(timedelta(hours=2))  # so that deleted objects are old enough
        self._emit(NAMES, label)
        self.run_until_committed(FILLS)

    def read(self) -> None:
        """Write a word of each key, and run until it has been joined."""
        self.input.append(("read", self.newest()))
        self._is_reading = True
        self._emit(IN, f"word-{len(self.input)}")
        self.run_until_committed(READS)
        self._is_reading = False

    def recover(self, *, driver: bool) -> None:
        """Recover from a death, with a table ahead of the batch."""
        super().recover(driver=driver)
        if self._is_reading:
            for _ in range(_MORE):
                self.fill()

    def newest(self) -> str:
        """Return the current value of all rows of the table."""
        return [label for kind, label in self.input if kind == "fill"][-1]

    def check(self) -> None:
        """Compare results, state and table with the input, and check for leftover files."""
        reads = [label for kind, label in self.input if kind == "read"]
        found: dict[str, list[str]] = {}
        for record in self._published():
            _, _, joined = (record.value or b"").decode().partition("=")
            found.setdefault((record.key or b"").decode(), []).append(joined)
        each = [f"{label}:{number}" for number, label in enumerate(reads, 1)]
        assert found == dict.fromkeys(KEYS, each)
        visits, rows = dict[str, int](), dict[str, str]()
        for overlay in self.stores(VISITS):
            visits.update(VISITS.open(overlay).range())
        for overlay in self.stores(TABLE):
            rows.update((key, row[0]) for key, row in TABLE.open(overlay).range())
        assert visits == dict.fromkeys(KEYS, len(reads))
        assert rows == dict.fromkeys(KEYS, self.newest())
        check_litter(self)
        self._check_copies()

    def _check_copies(self) -> None:
        """Check that two copies of the table are left on the machine, and no unfinished ones."""
        home = table_copies("crash", self.checkpoint.incarnation)
        tables = list(self.local.glob(f"**/{home}/*"))
        assert bool(tables) == isinstance(self.backend, FaultySharingBackend)
        for table in tables:
            copies = [path.name for path in table.iterdir() if path.is_dir()]
            assert len(copies) <= _KEPT
            assert not [name for name in copies if name.startswith(".")]

    def _emit(self, topic: Topic[str, str], value: str) -> None:
        time = 1000 * len(self.input)
        with Emitter(topic, self.connection) as emitter:
            emitter.emit_many(Record(key, value, time) for key in KEYS)
