"""Stores with changelogs on a broker: after the loss of all state they are rebuilt."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import (
    INT64,
    TEXT,
    App,
    Emitter,
    FixedKeyProcessor,
    Kafka,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    key_value_store,
)
from kstreams.aggregators import count
from kstreams.batch.io.topic_io import BatchId
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.durations import seconds
from kstreams.errors import StateCorruptError
from kstreams.stores import window_store
from kstreams.task.output.outputs import TaskOutput
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_kafka.topic_io import KafkaIO
from kstreams_rocksdb import RocksDB
from tests.support.cli.command_line import say
from tests.support.kafka.sample_records import output_table, read_all

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]

START_MS = 1_700_000_000_000
WINDOWS = TumblingWindows(seconds(10), grace=seconds(1000))
Click = tuple[str, int]
"""A page, and the time of the click in seconds since the start."""

CLICKS = Topic("logged-clicks", TEXT, INT64)
TOTALS = Topic("logged-totals", TEXT, INT64)
PER_WINDOW = Topic("logged-per-window", windowed(TEXT, WINDOWS), INT64)
PAGES = key_value_store("pages", key=TEXT, value=INT64).with_changelog("logged-pages")
RECENT = window_store("recent", key=TEXT, value=INT64).with_changelog("logged-recent")
FORGET = 777
"""A click at this time deletes its page, so the changelog gets a tombstone."""


class Count(FixedKeyProcessor[str, int, int]):
    """Running count of each page; 0 deletes the page."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.pages = context, context.store(PAGES)

    def process(self, record: Record[str, int]) -> None:
        total = (self.pages.get(record.key) or 0) + 1 if record.value != FORGET else None
        self.pages.put(record.key, total)
        self.context.forward(record.with_value(total or 0))


def build() -> Topology:
    builder = TopologyBuilder("logged")
    clicks = builder.add_source("clicks", CLICKS)
    totals = builder.add_processor("count", Count, clicks, stores=[PAGES])
    builder.add_sink("totals", TOTALS, totals)
    recent = windowed_aggregate(WINDOWS, count(), store=RECENT)
    builder.add_sink("per-window", PER_WINDOW, builder.add_processor("recent", recent, clicks))
    return builder.build()


TOPOLOGY = build()


class Shop:
    """An app with its files and broker, and a model of its input."""

    def __init__(self, home: Path, kafka: Kafka, spark: SparkSession) -> None:
        self.checkpoint, self.local = home / "checkpoint", home / "local"
        self.kafka, self.spark = kafka, spark
        self.pages: dict[str, int] = {}
        self.recent: Counter[tuple[str, int]] = Counter()
        self.totals: list[tuple[str, int]] = []

    def click(self, clicks: Iterable[Click]) -> None:
        """Append clicks, and run the app to their end in several batches."""
        with Emitter(CLICKS, self.kafka) as emitter:
            for page, second in clicks:
                time = START_MS + 1000 * second
                emitter.emit(page, second, timestamp=time)
                total = 0 if second == FORGET else self.pages.get(page, 0) + 1
                self.pages[page] = total
                self.totals.append((page, total))
                self.recent[page, time // 10_000 * 10_000] += 1
        app = App(
            TOPOLOGY,
            self.kafka,
            checkpoint=self.checkpoint,
            state=RocksDB(directory=str(self.local)),
            spark=self.spark,
            trigger=timedelta(0),
            parallelism=2,
            max_records_per_batch=30,
        )
        with app:
            app.run(until="end", timeout=timedelta(seconds=120))

    def write_uncommitted_batch(self) -> None:
        """Write the output of a batch that is killed between write and commit."""
        found = Checkpoint.load(home_of(self.checkpoint))
        last = found.commits("clicks", found.log.open()).last()
        assert last is not None
        (group,) = TOPOLOGY.groups
        for partition in range(2):
            tables = {
                "pages": output_table("logged-pages", [b"p1", b"ghost"], values=[bytes(8)] * 2),
                "recent": output_table("logged-recent", [b"p1" + bytes(8)], values=[bytes(8)]),
            }
            output = TaskOutput(changelogs=tables, partition=partition)
            producer = f"{found.epoch('clicks')}/clicks/{partition}"
            KafkaIO(self.kafka).write(output, group, BatchId(producer, last.batch + 1))

    def lose_state(self) -> None:
        """Delete all objects of the stores, and the working copies."""
        found = Checkpoint.load(home_of(self.checkpoint))
        objects = found.log.open()
        last = found.commits("clicks", objects).last()
        assert last is not None
        objects.delete(ref.name for p in last.pointers().values() for ref in p.objects())
        shutil.rmtree(self.local)
        with pytest.raises(StateCorruptError):
            self.read()

    def restore(self) -> None:
        """Rebuild both stores by the command line."""
        output = say(
            *("state", "restore", "logged", "--from-changelog", "--yes"),
            *("--topology", f"{__name__}:TOPOLOGY", "--checkpoint", str(self.checkpoint)),
            *("--bootstrap", self.kafka.bootstrap),
        )
        assert output.startswith("Rebuilt 2 stores of logged from ")

    def read(self) -> tuple[dict[str, int], dict[tuple[str, int], int]]:
        """Return the contents of both stores at the last commit."""
        with View(self.checkpoint, PAGES) as pages, View(self.checkpoint, RECENT) as recent:
            windows = {(key.key, key.start_ms): count for key, count in recent.fetch_all()}
            return dict(pages.items()), windows

    def expected(self) -> tuple[dict[str, int], dict[tuple[str, int], int]]:
        """Return the contents of the model."""
        return {page: total for page, total in self.pages.items() if total}, dict(self.recent)


def test_lost_stores_are_rebuilt_from_broker_and_app_continues(
    broker: KafkaBroker, spark: SparkSession, tmp_path: Path
) -> None:
    kafka = Kafka(broker.bootstrap)
    forever = {"retention.ms": "-1"}  # old event times
    for topic in (CLICKS, TOTALS, PER_WINDOW):
        broker.create_topic(topic.name, 2, forever)
    shop = Shop(tmp_path, kafka, spark)
    shop.click((f"p{n % 7}", n) for n in range(80))
    shop.click([("p2", FORGET), ("p3", 100), ("p8", 101)])
    assert shop.read() == shop.expected()

    shop.write_uncommitted_batch()
    shop.lose_state()
    shop.restore()
    assert shop.read() == shop.expected()

    shop.click([*((f"p{n % 9}", 80 + n) for n in range(40)), ("p4", FORGET)])
    assert shop.read() == shop.expected()
    found = read_all(kafka, TOTALS.name)
    assert Counter((r.key, r.value) for r in found) == Counter(
        (TEXT.serialize(page), INT64.serialize(total)) for page, total in shop.totals
    )

    shop.lose_state()  # a second time: uncommitted changes of the first epoch stay out
    shop.restore()
    assert shop.read() == shop.expected()
