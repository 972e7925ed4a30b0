"""Two versions of a schema in a registry, with an upgrade of the app in between.

export REGISTRY_URL=http://127.0.0.1:8081
python examples/schema_registry.py
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from kstreams import TEXT, App, Embedded, Emitter, Topic, TopologyBuilder, View, timestamped_store
from kstreams.app import Migration
from kstreams.serde import SchemaSerde
from kstreams_avro import avro_serde
from kstreams_registry import SchemaRegistry, confluent

REGISTRY = SchemaRegistry(os.environ.get("REGISTRY_URL", "http://127.0.0.1:8081"))
ITEM = {"name": "item", "type": "string"}
NOTE = {"name": "note", "type": "string", "default": "none"}
V1 = avro_serde(schema={"type": "record", "name": "Order", "fields": [ITEM]})
V2 = avro_serde(schema={"type": "record", "name": "Order", "fields": [ITEM, NOTE]})


def run(
    home: str,
    version: SchemaSerde[dict[str, str]],
    order: dict[str, str],
    migrate: Mapping[str, Migration],
) -> None:
    """Write an order, and run one version of the app to the end of its input."""
    orders = Topic("orders", TEXT, confluent(version, REGISTRY, register="if-compatible"))
    store = timestamped_store("last", key=TEXT, value=version)
    topics, checkpoint = Embedded(f"{home}/topics"), Path(home) / "checkpoint"
    with Emitter(orders, topics) as emitter:
        emitter.emit_many([(order["item"], order)])
    builder = TopologyBuilder("last-orders")
    builder.add_table("orders", orders, store=store)
    with App(builder.build(), topics, checkpoint=checkpoint, migrate=migrate) as app:
        app.run(until="end", timeout=timedelta(seconds=60))
    with View(checkpoint, store) as last:
        print({key: value[0] for key, value in sorted(last.items())})


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        run(directory, V1, {"item": "tea"}, {})
        old = timestamped_store("last", key=TEXT, value=V1)
        noted = Migration(old, lambda _, order: {**order, "note": "from before"})
        run(directory, V2, {"item": "salt", "note": "fine"}, {"last": noted})
