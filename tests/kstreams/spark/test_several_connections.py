"""An app that reads Kafka and files, and writes Kafka, PostgreSQL and a Delta table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from kstreams import INT64, NONE, TEXT, App, Emitter, Kafka, Topic, Topology, TopologyBuilder
from kstreams.operators import flat_map
from kstreams.sources import Lines, folder
from kstreams_delta import DeltaTable
from kstreams_postgres import PostgresTable
from tests.kstreams.spark.test_file_logs import write
from tests.support.apps.word_counter import COUNTS, CountWords
from tests.support.kafka.sample_records import read_all
from tests.support.sinks.delta_tables import rows_of
from tests.support.sinks.lake_contract import Total
from tests.support.sinks.postgres_tables import Place, total_row

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]


class Shop:
    """The sources and sinks of the app."""

    def __init__(self, home: Path, kafka: Kafka, tables: Place) -> None:
        self.files, self.lake = home / "files", str(home / "lake")
        self.files.mkdir()
        self.checkpoint = home / "checkpoint"
        self.kafka, self.tables = kafka, tables
        name = uuid4().hex
        self.words = Topic(f"words-{name}", key=TEXT, value=NONE)
        self.totals = Topic(f"totals-{name}", key=TEXT, value=INT64)
        tables.execute("CREATE TABLE totals (word text PRIMARY KEY, total bigint)")

    def build(self) -> Topology:
        builder = TopologyBuilder("several")
        lines = builder.add_source("lines", folder("lines", self.files, Lines(TEXT), partitions=2))
        split = builder.add_processor("split", flat_map(_split), lines)
        words = builder.add_source("words", self.words)
        edge = builder.repartition("by-word", split, words, key=TEXT, value=NONE)
        counts = builder.add_processor("count", partial(CountWords, COUNTS), edge, stores=[COUNTS])
        rows: PostgresTable[str, int] = PostgresTable(
            self.tables.url, "totals", key=("word",), row=total_row
        )
        builder.add_sink("topic", self.totals, counts)
        builder.add_sink("rows", rows, counts)
        builder.add_sink("lake", DeltaTable(self.lake, Total, row=Total), counts)
        return builder.build()

    def run(self, spark: SparkSession, step: int) -> None:
        """Add a file and records, and run the app to their end in small batches."""
        write(self.files, step, "\n".join(f"a b{n % 3}" for n in range(15)))
        with Emitter(self.words, self.kafka) as emitter:
            emitter.emit_many([("a", None), (f"d{step}", None)])
        app = App(
            self.build(),
            self.kafka,
            checkpoint=self.checkpoint,
            spark=spark,
            trigger=timedelta(0),
            parallelism=2,
            max_records_per_batch=10,
        )
        with app:
            app.run(until="end", timeout=timedelta(seconds=120))


def _split(_: None, line: str) -> Iterator[tuple[str, None]]:
    return ((word, None) for word in line.split())


def test_app_on_kafka_and_files_writes_each_result_once_to_each_sink(
    broker: KafkaBroker, database: str, spark: SparkSession, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, Kafka(broker.bootstrap, delivery="exactly-once"), Place(database))
    for topic in (shop.words, shop.totals):
        broker.create_topic(topic.name, 2, {"retention.ms": "-1"})  # old event times
    for step in (1, 2):
        shop.run(spark, step)
    counted = {"a": 32, "b0": 10, "b1": 10, "b2": 10, "d1": 1, "d2": 1}
    every = {word: list(range(1, total + 1)) for word, total in counted.items()}
    assert dict(shop.tables.rows("totals")) == counted
    published: defaultdict[str, list[int]] = defaultdict(list)
    for record in read_all(shop.kafka, shop.totals.name):
        word, total = TEXT.deserialize(record.key or b""), INT64.deserialize(record.value or b"")
        published[word].append(total)
    assert dict(published) == every
    in_lake: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows_of(shop.lake):
        in_lake[row["word"]].append(row["total"])
    assert {word: sorted(totals) for word, totals in in_lake.items()} == every
