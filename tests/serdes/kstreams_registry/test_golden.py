"""Data of Java's serializers is read, and written again with the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from devtools.servers.fake_registry import FakeRegistry
from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import field as field_
from kstreams.aggregators import over, sum_
from kstreams.durations import minutes
from kstreams.serde import Serde
from kstreams.stores import timestamped_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed_aggregate
from kstreams_avro import avro_serde
from kstreams_registry import SchemaRegistry, confluent
from kstreams_registry.frames import frame_bytes, parse_frame

_LINES = (Path(__file__).parent / "golden" / "java.txt").read_text().splitlines()


def lines(kind: str) -> list[str]:
    return [text for name, _, text in (line.partition(" ") for line in _LINES) if name == kind]


SCHEMAS, AVRO, PROTOBUF = lines("schema"), lines("avro"), lines("protobuf")


@dataclass(frozen=True)
class Order:
    item: str
    count: int
    price: float | None = None
    notes: list[str] = field(default_factory=list)


WRITTEN = [
    Order("tea", 2, 1.5),
    Order("salt", -1),
    Order("grüner Tee", 1 << 40, notes=["hot", ""]),
    Order("", 0, -0.0),
]


@pytest.fixture
def orders(fake: FakeRegistry) -> Serde[Order]:
    """Return the serde of a topic whose values Java's serializers have written."""
    for schema in SCHEMAS:
        fake.add("golden-value", schema)
    plain = avro_serde(Order, namespace="shop")
    serde: Serde[Order] = confluent(plain, SchemaRegistry(fake.url), register="if-compatible")
    return Topic("golden", TEXT, serde).value


def test_avro_frames_of_java_are_read_with_each_schema(orders: Serde[Order]) -> None:
    data = [bytes.fromhex(text) for text in AVRO]
    assert orders.deserialize_many(pa.array(data, pa.binary())) == WRITTEN
    assert [orders.deserialize(each) for each in data] == WRITTEN


def test_avro_frames_have_same_bytes_as_java(fake: FakeRegistry) -> None:
    number = fake.add("golden-value", SCHEMAS[0])
    assert number == fake.add("golden-value", SCHEMAS[0])
    for schema, rows in zip(SCHEMAS, (AVRO[:2], AVRO[2:]), strict=True):
        plain = avro_serde(schema=schema)
        fake.add("golden-value", plain.schema.text, number=SCHEMAS.index(schema) + 1)
        serde = Topic("golden", TEXT, confluent(plain, SchemaRegistry(fake.url))).value
        for text in rows:
            data = bytes.fromhex(text)
            again = serde.serialize(plain.deserialize(data[5:]))
            assert again == data


@pytest.mark.parametrize(
    ("text", "indexes", "datum"),
    [
        (PROTOBUF[0], (0,), b"\n\x03tea\x10\x04"),
        (PROTOBUF[1], (1,), b"\n\x04salt\x10\x01"),
        (PROTOBUF[2], (0, 0), b""),
    ],
)
def test_protobuf_frames_equal_those_of_the_java_client(
    text: str, indexes: tuple[int, ...], datum: bytes
) -> None:
    data = bytes.fromhex(text)
    frame = parse_frame(data, indexed=True)
    assert (frame.name, frame.indexes) == (300, indexes)
    assert data == frame.data + datum == frame_bytes(300, indexes) + datum


def test_values_of_topic_written_by_java_are_stored_and_aggregated(orders: Serde[Order]) -> None:
    source = Topic("golden", TEXT, orders)
    last = timestamped_store("last", key=TEXT, value=orders)
    builder = TopologyBuilder("java")
    read = builder.add_source("read", source)
    counts = window_store("sums", key=TEXT, value=INT64)
    summed = over(field_("count", INT64), sum_(INT64))
    windows = TumblingWindows(minutes(1))
    builder.add_processor("sum", windowed_aggregate(windows, summed, store=counts), read)
    builder.to_table("last", read, store=last)
    with TopologyTestDriver(builder.build()) as driver:
        for number, text in enumerate(AVRO):
            key = b"k%d" % (number % 2)
            driver.write_bytes("golden", key, bytes.fromhex(text), timestamp=number)
        driver.run()
        assert driver.store(last).get("k0") == (WRITTEN[2], 2)
        sums = [total for _, total in driver.store(counts).fetch("k0", 0)]
        assert sums == [2 + (1 << 40)]
        assert last.value == orders.plain
