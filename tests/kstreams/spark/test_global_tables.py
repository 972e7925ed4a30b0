"""Global tables on Spark: filled first, pinned for each batch, of this app and of another app."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.joins import left
from kstreams.state import StateBackend
from kstreams.stores import timestamped_store
from kstreams.topology import AppTable
from kstreams_rocksdb import RocksDB
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

WORDS, NAMES = Topic("words", TEXT, TEXT), Topic("names", TEXT, TEXT)
TEXTS, SEEN = Topic("texts", INT64, TEXT), Topic("seen", INT64, TEXT)
TABLE = timestamped_store("words-table", key=TEXT, value=TEXT)
OTHER = timestamped_store("names-table", key=TEXT, value=TEXT)
WAIT, SECONDS = "wait", 60


@dataclass(frozen=True)
class Look:
    """Makes processors that look up a word, and log it; the first attempt at `wait` fails."""

    folder: Path

    def __call__(self) -> Looking:
        return Looking(self.folder)


class Looking(Processor[int, str, int, str]):
    """The processor of `Look`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def init(self, context: ProcessorContext[int, str]) -> None:
        self.context = context
        self.words, self.names = context.reader(TABLE), context.reader(OTHER)

    def process(self, record: Record[int, str]) -> None:
        word = record.value.removeprefix(WAIT)
        found = f"{self.words.get(word)}/{self.names.get(word)}"
        if word != record.value:
            (self.folder / f"saw-{uuid4().hex}").write_text(found)
            if not (self.folder / "failed").exists():
                (self.folder / "failed").touch()
                raise RuntimeError("this attempt fails")
        self.context.forward(record.with_value(f"{record.value}:{found}"))


class HoldRetry(logging.Handler):
    """Holds a query between two attempts at a batch, while no task runs, until a file exists."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def emit(self, record: logging.LogRecord) -> None:
        if "the batch runs again" in record.getMessage():
            wait_for(self.file.exists)


def wait_for(happened: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def _fills(bench: Bench) -> int:
    return sum(report.query == "words.source" for report in bench.reports)


def _has_filled(bench: Bench, before: int) -> bool:
    return _fills(bench) > before


def naming() -> Topology:
    builder = TopologyBuilder("naming")
    builder.add_table("names", NAMES, store=OTHER)
    return builder.build()


def looking(folder: Path, other: Path) -> Topology:
    builder = TopologyBuilder("looking")
    texts = builder.add_source("texts", TEXTS)
    words = builder.add_global_table("words", WORDS, store=TABLE)
    builder.add_global_table("names", AppTable(other, OTHER))
    seen = builder.add_processor("look", Look(folder), texts, reads=[TABLE, OTHER])
    joined = builder.join_global(
        "join",
        seen,
        words,
        left(lambda text, word: f"{text}+{word}"),
        by=lambda _, text: text[:1],
    )
    builder.add_sink("seen", SEEN, joined)
    return builder.build()


@pytest.mark.engines("spark", "group-state")
def test_batch_reads_one_version_on_every_attempt_and_next_batch_a_newer_one(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    folder, other = bench.home / "seen", bench.home / "other"
    folder.mkdir()
    bench.create(WORDS, NAMES, TEXTS, partitions=3)
    bench.create(SEEN)
    bench.emit(WORDS, [(word, "old") for word in "abcdef"])
    bench.emit(NAMES, [("a", "Ann")])
    bench.emit(TEXTS, [(number, word) for number, word in enumerate("abcdef")])

    def state(name: str) -> StateBackend:
        return RocksDB(directory=str(bench.home / name))

    naming_app = bench.app(naming(), app_id="naming", checkpoint=other, state=state("n"))
    naming_app.open()
    naming_app.drain()
    looking_app = bench.app(looking(folder, other), state=state("l"))
    looking_app.start()
    wait_for(lambda: bench.connection.admin().topics() and len(bench.records(SEEN)) == 6)
    first = {text for _, text in bench.records(SEEN)}
    assert first == {f"{w}:old/{'Ann' if w == 'a' else None}+old" for w in "abcdef"}

    hold = HoldRetry(folder / "moved")
    retries = logging.getLogger("kstreams.execution.batch_attempts")
    retries.addHandler(hold)
    request.addfinalizer(lambda: retries.removeHandler(hold))
    bench.emit(TEXTS, [(1, f"{WAIT}a")])
    wait_for(lambda: list(folder.glob("saw-*")))
    for _ in range(3):  # between the attempts, both tables change
        before = _fills(bench)
        bench.emit(WORDS, [("a", "new")])
        wait_for(partial(_has_filled, bench, before))
        bench.emit(NAMES, [("a", "Eve")])
        naming_app.drain()
    (folder / "moved").touch()
    wait_for(lambda: len(bench.records(SEEN)) == 7)
    assert {path.read_text() for path in folder.glob("saw-*")} == {"old/Ann"}
    assert len(list(folder.glob("saw-*"))) == 2
    bench.emit(TEXTS, [(2, "a")])
    wait_for(lambda: len(bench.records(SEEN)) == 8)
    assert {text for _, text in bench.records(SEEN)} - first == {
        f"{WAIT}a:old/Ann+None",
        "a:new/Eve+new",
    }
    looking_app.close()
    naming_app.close()
    with bench.app(looking(folder, other), state=state("l")) as again:  # no record is read twice
        before = len(bench.reports)
        bench.emit(TEXTS, [(3, "b")])
        again.run(until="end")
        assert [report.query for report in bench.reports[before:]] == ["texts"]
    assert "b:old/None+old" in {text for _, text in bench.records(SEEN)}
