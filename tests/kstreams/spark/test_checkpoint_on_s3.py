"""An app whose successive drivers share only S3 and Kafka."""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from devtools.servers.kafka import KafkaBroker
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, Bucket
from kstreams import (
    INT64,
    TEXT,
    App,
    Embedded,
    Emitter,
    Kafka,
    Topic,
    Topology,
    TopologyBuilder,
    View,
    key_value_store,
)
from kstreams.errors import CompileError, FencedError, NoCheckpointError, PluginError
from kstreams.state import Memory
from tests.support.cli.command_line import say
from tests.support.kafka.sample_records import read_all
from tests.support.spark.bench import COUNTS, Count

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(300)]

MORE = key_value_store("more", key=TEXT, value=INT64)
PARTITIONS = 2


class Bench:
    """Two topics on a broker, a prefix of a bucket, and a machine that can be lost."""

    def __init__(
        self, home: Path, broker: KafkaBroker, bucket: Bucket, spark: SparkSession
    ) -> None:
        self.name = f"on-s3-{uuid.uuid4().hex[:8]}"
        self.words = Topic(f"{self.name}-words", TEXT, TEXT)
        self.totals = Topic(f"{self.name}-totals", TEXT, INT64)
        self.home, self.kafka = home, Kafka(broker.bootstrap)
        self.bucket, self.spark = bucket, spark
        self.sent: Counter[str] = Counter()
        self.url = f"s3://{bucket.name}/{self.name}"
        for topic in (self.words, self.totals):
            broker.create_topic(topic.name, PARTITIONS, {"retention.ms": "-1"})

    def topology(self, *, wider: bool = False) -> Topology:
        builder = TopologyBuilder(self.name)
        words = builder.add_source("words", self.words)
        stores = [COUNTS, MORE] if wider else [COUNTS]
        totals = builder.add_processor("count", Count, words, stores=stores)
        builder.add_sink("totals", self.totals, totals)
        return builder.build()

    def app(self, *, wider: bool = False) -> App:
        """Return an app on a new machine without any files."""
        shutil.rmtree(self.home, ignore_errors=True)
        return App(
            self.topology(wider=wider),
            self.kafka,
            checkpoint=self.bucket.settings(self.name),
            state=Memory(directory=str(self.home / "local")),
            spark=self.spark,
            trigger=timedelta(0),
            parallelism=2,
        )

    def emit(self, words: Iterable[str]) -> None:
        with Emitter(self.words, self.kafka) as emitter:
            for word in words:
                emitter.emit(word, "", timestamp=1_700_000_000_000)
                self.sent[word] += 1

    def check(self) -> None:
        """Assert that each word has each of its counts once, and that the store has the last."""
        found = Counter(
            (record.key, int.from_bytes(record.value or b"", "big", signed=True))
            for record in read_all(self.kafka, self.totals.name)
        )
        wanted = {(w.encode(), n) for w, count in self.sent.items() for n in range(1, count + 1)}
        assert {word for word, _ in found} == {word for word, _ in wanted}
        assert sum(found.values()) == len(wanted)
        with View(self.bucket.settings(self.name), COUNTS) as view:
            assert dict(view.items()) == self.sent


@pytest.fixture
def bench(
    tmp_path: Path,
    broker: KafkaBroker,
    bucket: Bucket,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    for name, value in {
        "AWS_ENDPOINT_URL": bucket.endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return Bench(tmp_path / "machine", broker, bucket, spark)


def run(app: App) -> None:
    with app:
        app.run(until="end", timeout=timedelta(seconds=90))


@pytest.mark.long
def test_app_with_checkpoint_url_is_viewed_upgraded_forked_and_reset_without_directory(
    bench: Bench,
) -> None:
    """Run, view, savepoint, upgrade, verify, fork and reset by URLs."""
    bench.emit(["a", "b", "a"])
    run(bench.app())
    bench.check()
    where = ("--checkpoint", bench.url)
    assert "Created savepoint kept of" in say("state", "savepoint", bench.name, "kept", *where)

    bench.emit(["a", "c"])
    run(bench.app())
    bench.check()
    run(bench.app(wider=True))
    bench.emit(["c"])
    run(bench.app(wider=True))
    bench.check()
    say("state", "verify", bench.name, *where)
    assert "counts" in say("state", "list", bench.name, *where)
    assert say("state", "get", bench.name, "counts", "a", *where).strip() == "3"
    copy = ("--checkpoint", f"{bench.url}-copy")
    assert "Forked copy" in say("state", "fork", f"{bench.url}@kept", "copy", *copy)
    assert say("state", "get", "copy", "counts", "a", *copy).strip() == "2"
    assert "Reset copy" in say("reset", "copy", "--yes", *copy)
    left = {key.split("/")[1] for key in bench.bucket.keys(f"{bench.name}-copy/")}
    assert left == {".kstreams", "plans"}
    bench.check()
    assert not list(bench.home.parent.rglob("app.json"))
    assert not list(bench.home.rglob("plans"))


def test_new_driver_takes_over_from_running_one(bench: Bench) -> None:
    older, newer = bench.app(), bench.app()
    with older:
        older.open()
        bench.emit(["a", "b"])
        older.drain(timeout=timedelta(seconds=60))
        with newer:
            newer.open()
            bench.emit(["a"])
            newer.drain(timeout=timedelta(seconds=60))
            bench.check()
            with pytest.raises(FencedError, match="was written by another driver"):
                older.drain(timeout=timedelta(seconds=60))
            bench.emit(["b"])
            newer.drain(timeout=timedelta(seconds=60))
    bench.check()


def test_impossible_checkpoint_urls_are_rejected_at_start(bench: Bench, tmp_path: Path) -> None:
    embedded = Embedded(tmp_path / "topics")
    with pytest.raises(CompileError, match="embedded topics are for one machine"):
        run(App(bench.topology(), embedded, checkpoint=bench.url, spark=bench.spark))
    with pytest.raises(PluginError, match="gs://"):
        App(bench.topology(), bench.kafka, checkpoint="gs://bucket/app")
    with pytest.raises(PluginError, match="is not durable storage"):
        App(bench.topology(), bench.kafka, checkpoint="memory://bucket/app")
    with pytest.raises(NoCheckpointError):
        View(f"{bench.url}-none", COUNTS)
