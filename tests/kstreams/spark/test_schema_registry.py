"""Apps with schemas in a registry: two versions of a schema, and an outage."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from devtools.servers.fake_registry import FakeRegistry
from devtools.servers.kafka import KafkaBroker
from kstreams import TEXT, App, Embedded, Emitter, Kafka, Topic, Topology, TopologyBuilder, View
from kstreams.app import Migration
from kstreams.errors import CheckpointMismatchError, RegistryUnavailableError
from kstreams.stores import timestamped_store
from kstreams_json import json_serde
from kstreams_registry import SchemaRefusedError, SchemaRegistry, confluent, json_schema
from tests.support.serdes.schema_serde import Fields

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Order:
    item: str
    count: int


@dataclass(frozen=True)
class NewOrder:
    item: str
    count: int
    note: str = "none"


def topology(
    kind: type[Any], registry: SchemaRegistry, names: tuple[str, str], **options: Any
) -> Topology:
    """Return a topology that stores and forwards the last order of each key."""
    serde = confluent(json_schema(json_serde(kind)), registry, **options)
    orders: Topic[str, Any] = Topic(names[0], TEXT, serde)
    builder = TopologyBuilder("last-orders", on_error="skip")
    read = builder.add_source("orders", orders)
    last = builder.to_table("last", read, store=timestamped_store("last", key=TEXT, value=serde))
    builder.add_sink("out", Topic(names[1], TEXT, serde), builder.to_stream("changes", last))
    return builder.build()


def last(kind: type[Any]) -> Any:
    return timestamped_store("last", key=TEXT, value=json_schema(json_serde(kind)))


@pytest.mark.kafka
@pytest.mark.slow
def test_two_schema_versions_are_read_through_registry(
    broker: KafkaBroker, registry_url: str, spark: SparkSession, tmp_path: Path
) -> None:
    registry, kafka = SchemaRegistry(registry_url), Kafka(broker.bootstrap)
    names = f"orders-{uuid.uuid4().hex}", f"last-{uuid.uuid4().hex}"
    for name in names:
        broker.create_topic(name, 2)

    def app(kind: type[Any], register: Any = "if-compatible", **options: Any) -> App:
        return App(
            topology(kind, registry, names, register=register),
            kafka,
            checkpoint=tmp_path / "checkpoint",
            spark=spark,
            parallelism=2,
            **options,
        )

    def write(kind: type[Any], *orders: tuple[str, Any]) -> None:
        serde = confluent(json_schema(json_serde(kind)), registry, register="if-compatible")
        with Emitter(Topic(names[0], TEXT, serde), kafka) as emitter:
            emitter.emit_many(orders)

    def run(made: App) -> None:
        with made:
            made.run(until="end", timeout=timedelta(seconds=120))

    with pytest.raises(SchemaRefusedError, match="has no subject"):
        run(app(Order, register="never"))
    write(Order, ("ann", Order("tea", 1)), ("bob", Order("salt", 2)))
    run(app(Order))
    with View(tmp_path / "checkpoint", last(Order)) as view:
        assert view.get("ann")[0] == Order("tea", 1)

    write(NewOrder, ("ann", NewOrder("tea", 3, "hot")))
    write(Order, ("eve", Order("rice", 4)))
    with pytest.raises(
        CheckpointMismatchError, match="the schema of the value has changed, from json-schema"
    ):
        run(app(NewOrder))
    convert = Migration(last(Order), lambda _, order: NewOrder(order.item, order.count))
    run(app(NewOrder, migrate={"last": convert}))
    with View(tmp_path / "checkpoint", last(NewOrder)) as view:
        found = {key: value[0] for key, value in view.items()}
    assert found == {
        "ann": NewOrder("tea", 3, "hot"),
        "bob": NewOrder("salt", 2),
        "eve": NewOrder("rice", 4),
    }


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with FakeRegistry() as running:
        yield running


def test_registry_outage_fails_batch_and_skips_no_record(
    fake: FakeRegistry, spark: SparkSession, tmp_path: Path
) -> None:
    registry = SchemaRegistry(fake.url, attempts=2)
    serde = confluent(Fields("item"), registry, register="if-compatible")
    orders, copies = Topic("orders", TEXT, serde), Topic("copies", TEXT, serde)
    builder = TopologyBuilder("copy", on_error="skip")
    builder.add_sink("out", copies, builder.add_source("orders", orders))
    built, embedded = builder.build(), Embedded(tmp_path / "topics")
    embedded.admin().create("orders", partitions=1)
    embedded.admin().create("copies", partitions=1)
    with Emitter(orders, embedded) as emitter:
        emitter.emit_many([("a", {"item": "tea"})])
    new = Fields("item", "note?")
    later = confluent(new, registry, register="if-compatible")
    with Emitter(Topic("orders", TEXT, later), embedded) as emitter:
        emitter.emit_many([("b", {"item": "salt", "note?": "n"})])

    def run() -> None:
        with App(built, embedded, checkpoint=tmp_path / "checkpoint", spark=spark) as app:
            app.run(until="end", timeout=timedelta(seconds=60))

    fake.fault = lambda _, place: (503, {}) if "/ids/" in place else None
    with pytest.raises(RegistryUnavailableError, match="answers 503"):
        run()
    fake.fault = lambda _method, _path: None
    run()
    rows = list(embedded.reader().read("copies", 0, 0, 10))
    assert [row.value for row in rows] == [b"\0\0\0\0\x01tea", b"\0\0\0\0\x01salt"]
