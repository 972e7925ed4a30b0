"""A script with types that refer to each other, run by path, by text, as a module, by `runpy`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec

from kstreams import TEXT, App, Embedded, Emitter, Serde, Topic, Topology, TopologyBuilder
from kstreams.operators import map_values
from kstreams.serde import csv_row
from kstreams.workers.pickling import dumped
from kstreams_avro import avro_serde
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_xml import xml_serde

READ = """
import pickle, sys
for serde, data in pickle.load(sys.stdin.buffer):
    print(serde.deserialize(data))
"""


@dataclass
class Item:
    name: str
    count: int


@dataclass
class Order:
    day: date
    items: list[Item]
    gift: Item | None = None


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    parts: list[Part] = field(default_factory=list)


class OrderKeys(TypedDict):
    items: list[Item]


class OrderTuple(NamedTuple):
    items: list[Item]


class Named(msgspec.Struct, frozen=True, kw_only=True, tag="named", rename="camel"):
    first_name: str
    other_names: list[str] = []


class Person(Named, frozen=True):
    children: list[Person] = msgspec.field(default_factory=list, name="kids")
    address: dict[str, Item] = {}

    def count(self) -> int:
        return 1 + sum(child.count() for child in self.children)


class Point(msgspec.Struct, frozen=True, array_like=True):
    x: int
    near: Point | None = None


@dataclass
class Row:
    name: str
    day: date | None


ORDER = Order(date(2026, 1, 2), [Item("tea", 2)], Item("cup", 1))
PART = Part("cart", [Part("wheel"), Part("box", [Part("lid")])])
PERSON = Person(first_name="Ann", children=[Person(first_name="Bo")], address={"a": Item("b", 1)})
POINT = Point(1, Point(2))
CASES: tuple[tuple[str, Callable[[], Serde[Any]], Any], ...] = (
    ("json-order", lambda: json_serde(Order), ORDER),
    ("json-part", lambda: json_serde(Part), PART),
    ("json-keys", lambda: json_serde(OrderKeys), {"items": [Item("tea", 2)]}),
    ("json-tuple", lambda: json_serde(OrderTuple), OrderTuple([Item("tea", 2)])),
    ("json-struct", lambda: json_serde(Person), PERSON),
    ("msgpack-struct", lambda: msgpack_serde(Point), POINT),
    ("avro-struct", lambda: avro_serde(Person), PERSON),
    ("msgpack-order", lambda: msgpack_serde(Order), ORDER),
    ("msgpack-part", lambda: msgpack_serde(Part), PART),
    ("avro-order", lambda: avro_serde(Order), ORDER),
    ("avro-part", lambda: avro_serde(Part), PART),
    ("xml-order", lambda: xml_serde(Order), ORDER),
    ("xml-part", lambda: xml_serde(Part), PART),
    ("csv-row", lambda: csv_row(Row), Row("tea", date(2026, 1, 2))),
)


def build() -> Topology:
    builder = TopologyBuilder("nested-types")
    for name, make, _ in CASES:
        serde = make()
        source = builder.add_source(f"{name}-in", Topic(f"{name}-in", TEXT, serde))
        same = builder.add_processor(f"{name}-same", map_values(lambda value: value), source)
        builder.add_sink(f"{name}-out", Topic(f"{name}-out", TEXT, serde), same)
    return builder.build()


def run_app(home: Path) -> None:
    topics = Embedded(home / "topics", default_partitions=1, durable=False)
    for name, make, value in CASES:
        with Emitter(Topic(f"{name}-in", TEXT, make()), topics) as emitter:
            emitter.emit("a", value)
    App(build(), topics, checkpoint=home / "app").run(until="end")
    for name, make, value in CASES:
        (record,) = topics.reader().read(f"{name}-out", 0, 0, 1)
        assert make().deserialize(record.value or b"") == value, name


def send_serdes() -> None:
    """Let a process without this script read values with all serdes."""
    made = [(make(), value) for _, make, value in CASES]
    sent = dumped([(serde, serde.serialize(value)) for serde, value in made])
    done = subprocess.run([sys.executable, "-c", READ], input=sent, stdout=-1, check=True)
    assert done.stdout.decode().splitlines() == [str(value) for _, value in made]


def main() -> None:
    if len(sys.argv) > 1:
        run_app(Path(sys.argv[1]))
    else:
        send_serdes()
    sys.stdout.write(f"{__name__}: {len(CASES)} serdes\n")


if __name__ in ("__main__", "<run_path>"):
    main()
