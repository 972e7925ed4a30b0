"""Processors that fail, or change their output, while a file exists; for tests on workers."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from kstreams import (
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
    rekey,
)
from kstreams.state import Memory
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.working import Changes, WorkingStore
from tests.support.spark.bench import COUNTS, WORDS, Count

MARKS = Topic("marks", TEXT, TEXT)
LATER = Topic("later", TEXT, TEXT)
LAST = key_value_store("last", key=TEXT, value=TEXT)
SEEN = key_value_store("seen", key=TEXT, value=TEXT)


@dataclass(frozen=True)
class Trap:
    """A file whose presence causes a failure, up to a number of times."""

    path: Path
    times: int = 1_000

    def arm(self) -> None:
        self.path.mkdir(parents=True)

    def disarm(self) -> None:
        self.path.rename(self.path.with_name(f"{self.path.name}-{uuid4().hex}"))

    @property
    def sprung(self) -> int:
        return sum(1 for _ in self.path.iterdir())

    def spring(self) -> bool:
        """Return whether to fail now; counted over all processes."""
        if not self.path.exists() or self.sprung >= self.times:
            return False
        (self.path / uuid4().hex).touch()
        return True


class FailingCount(Count):
    """Counts and forwards, then raises at the key `bad`."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def process(self, record: Record[str, str]) -> None:
        super().process(record)
        if record.key == "bad" and self.trap.spring():
            raise RuntimeError("this record is bad")


class KillingCount(Count):
    """Counts, and kills its process at a value that ends with 2."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def process(self, record: Record[str, str]) -> None:
        if record.value.endswith("2") and self.trap.spring():
            os.kill(os.getpid(), signal.SIGKILL)
        super().process(record)


class StrictCount(Count):
    """Counts, and raises at the value `bad`."""

    def process(self, record: Record[str, str]) -> None:
        if record.value == "bad":
            raise ValueError("a bad record")
        super().process(record)


class Sleeping(FixedKeyProcessor[str, str, str]):
    """Creates the file that is the value of a record, and sleeps for a minute."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context = context

    def process(self, record: Record[str, str]) -> None:
        Path(record.value).touch()
        time.sleep(60)


class WrongCount(Count):
    """Forwards text instead of a number at the key `bad`."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def process(self, record: Record[str, str]) -> None:
        if record.key == "bad" and self.trap.spring():
            wrong: Any = "not a number"
            self.context.forward(record.with_value(wrong))
        super().process(record)


class WrongStore(Count):
    """Puts text instead of a number at the key `bad`."""

    def __init__(self, trap: Trap) -> None:
        self.trap = trap

    def process(self, record: Record[str, str]) -> None:
        super().process(record)
        if record.key == "bad" and self.trap.spring():
            wrong: Any = "not a number"
            self.counts.put(record.key, wrong)


class Mark(FixedKeyProcessor[str, str, str]):
    """Gives each record a mark unique to the run, and stores the last one."""

    def __init__(self, store: Any = LAST, trap: Trap | None = None) -> None:
        self.spec = store
        self.trap = trap

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.last = context, context.store(self.spec)

    def process(self, record: Record[str, str]) -> None:
        mark = f"{record.value}:{uuid4().hex[:8]}"
        self.last.put(record.key, mark)
        self.context.forward(record.with_value(mark))
        if self.trap is not None and record.key == "bad" and self.trap.spring():
            raise RuntimeError("this attempt fails")


class MarkedAbove(FixedKeyProcessor[str, str, str]):
    """Stores and forwards the mark given to a record before."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        self.context, self.seen = context, context.store(SEEN)

    def process(self, record: Record[str, str]) -> None:
        self.seen.put(record.key, record.value)
        self.context.forward(record)


def _other_key(key: str, value: str) -> str:
    return f"{key}'"


def marking(trap: Trap | None = None) -> Topology:
    """Return a topology: words -> mark -> marks, and over a repartition -> keep -> later."""
    builder = TopologyBuilder("marking")
    words = builder.add_source("words", WORDS)
    marks = builder.add_processor("mark", lambda: Mark(LAST, trap), words, stores=[LAST])
    builder.add_sink("marks", MARKS, marks)
    moved = builder.add_processor("move", rekey(_other_key), marks)
    edge = builder.repartition("edge", moved, key=TEXT, value=TEXT)
    kept = builder.add_processor("keep", MarkedAbove, edge, stores=[SEEN])
    builder.add_sink("later", LATER, kept)
    return builder.build()


class FailingStore(MemoryStore):
    """A store that fails to write while a trap is armed."""

    trap: Trap

    def write(self, changes: Changes) -> None:
        if COUNTS.name in changes and self.trap.spring():
            raise OSError(28, "No space left on device")
        super().write(changes)


@dataclass(frozen=True)
class FailingMemory(Memory):
    """A backend of `FailingStore`."""

    trap: Trap = Trap(Path("nowhere"))

    def open(self, directory: Path, stores: Any) -> WorkingStore:
        opened = super().open(directory, stores)
        opened.__class__ = FailingStore
        failing: Any = opened
        failing.trap = self.trap
        return opened
