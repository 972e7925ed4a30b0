"""GoConnect's projector: reads Avro records and writes some of their fields, as Avro.

python examples/avro_projector.py [BOOTSTRAP]: on Kafka, where it creates the topics, or on files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kstreams import TEXT, App, Embedded, Emitter, Kafka, Topic, TopologyBuilder
from kstreams.operators import map_values
from kstreams_avro import avro_serde

CUSTOMER: dict[str, Any] = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "card", "type": "string"},
        {"name": "towns", "type": {"type": "array", "items": "string"}},
    ],
}
KEPT = ("name", "towns")  # the output has its own schema
CONTACT = CUSTOMER | {"fields": [each for each in CUSTOMER["fields"] if each["name"] in KEPT]}

CUSTOMERS = Topic("customers", key=TEXT, value=avro_serde(schema=CUSTOMER))
CONTACTS = Topic("contacts", key=TEXT, value=avro_serde(schema=CONTACT))

builder = TopologyBuilder("projector")
customers = builder.add_source("customers", CUSTOMERS)


def project(customer: dict[str, Any]) -> dict[str, Any]:
    return {name: customer[name] for name in KEPT}


contacts = builder.add_processor("project", map_values(project), customers)
builder.add_sink("contacts", CONTACTS, contacts)
topology = builder.build()


def main(topics: Embedded | Kafka, home: Path) -> None:
    for topic in (CUSTOMERS, CONTACTS):
        topics.admin().create(topic.name, partitions=1)
    with Emitter(CUSTOMERS, topics) as emitter:
        emitter.emit("7", {"name": "ann", "card": "4111", "towns": ["Bern"]})
    with App(topology, topics, checkpoint=home / "checkpoint") as app:
        app.run(until="end")


if __name__ == "__main__":
    with TemporaryDirectory(prefix="kstreams-example-") as folder:
        on = Kafka(sys.argv[1]) if sys.argv[1:] else Embedded(Path(folder, "topics"))
        main(on, Path(folder))
        for raw in on.reader().read(CONTACTS.name, 0, 0, on.admin().end_offsets(CONTACTS.name)[0]):
            print(TEXT.deserialize(raw.key or b""), CONTACTS.value.deserialize(raw.value or b""))
