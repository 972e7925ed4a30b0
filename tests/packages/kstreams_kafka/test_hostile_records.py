"""Unusual records that a broker accepts from any client are read, or rejected with their place."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from devtools.servers.kafka import KafkaBroker
from devtools.servers.raw_produce import RawBytes, produce_raw
from kstreams.connection import RawRecord
from kstreams.errors import RecordRefusedError
from kstreams.record import Headers
from kstreams_kafka.options import Kafka
from kstreams_kafka.range_reader import OffsetRange, RangeReader
from tests.support.kafka.sample_records import read_all

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("each_way"),
]

BAD = [(b"good", b"1"), (b"\xff\xfe", b"2"), (b"", None)]


def rows(broker: KafkaBroker, topic: str, end: int) -> list[dict[str, object]]:
    """Read the first partition of a topic, like a task."""
    reader = RangeReader(Kafka(broker.bootstrap))
    try:
        (table,) = reader.read([OffsetRange(topic, 0, 0, end)])
    finally:
        reader.close()
    found: list[dict[str, object]] = table.to_pylist()
    return found


@pytest.fixture
def topic(broker: KafkaBroker, topic_name: str) -> str:
    return broker.create_topic(topic_name)


def test_header_name_that_is_not_utf8_does_not_affect_other_records(
    broker: KafkaBroker, topic: str
) -> None:
    headers = [[(b"n", b"%d" % n)] if n % 4 else BAD for n in range(12)]
    sent = [RawBytes(b"k%d" % n, b"v%d" % n, 1 + n, own) for n, own in enumerate(headers)]
    produce_raw(broker.bootstrap, topic, sent)
    found = rows(broker, topic, 12)
    assert [(row["offset"], row["key"], row["value"]) for row in found] == [
        (n, b"k%d" % n, b"v%d" % n) for n in range(12)
    ]
    assert [row["headers"] for row in found] == [
        [{"key": "n", "value": b"%d" % n}] if n % 4 else [{"key": None, "value": b"\xff\xfe"}]
        for n in range(12)
    ]


def test_several_undecodable_header_names_make_one_unreadable_header(
    broker: KafkaBroker, topic: str
) -> None:
    worse = [(b"\xff", b"1"), (b"ok", b""), (b"\xfe", b"2"), (b"\xc3(", None)]
    produce_raw(broker.bootstrap, topic, [RawBytes(headers=worse), RawBytes(headers=[(b"x", b"")])])
    first, second = rows(broker, topic, 2)
    names = (b"\xff", b"\xfe", b"\xc3(")
    assert first["headers"] in [[{"key": None, "value": name}] for name in names]
    assert second["headers"] == [{"key": "x", "value": b""}]


def test_reader_marks_record_with_unreadable_headers(broker: KafkaBroker, topic: str) -> None:
    produce_raw(broker.bootstrap, topic, [RawBytes(headers=BAD), RawBytes(headers=[(b"x", b"1")])])
    bad, good = read_all(Kafka(broker.bootstrap), topic)
    assert bad == RawRecord(topic, 0, 0, 1_000, b"k", b"v", (), headers_readable=False)
    assert good == RawRecord(topic, 0, 1, 1_000, b"k", b"v", (("x", b"1"),))


def test_null_and_empty_and_duplicate_headers_are_distinct(broker: KafkaBroker, topic: str) -> None:
    headers = [(b"", b""), (b"", None), (b"a", b"1"), (b"a", b"2"), (b"\xc3\xa4", b"\xff")]
    sent = [RawBytes(None, b"", headers=headers), RawBytes(b"", None), RawBytes(None, None)]
    produce_raw(broker.bootstrap, topic, sent)
    found = rows(broker, topic, 3)
    assert [(row["key"], row["value"]) for row in found] == [(None, b""), (b"", None), (None, None)]
    expected = [("", b""), ("", None), ("a", b"1"), ("a", b"2"), ("\u00e4", b"\xff")]
    assert found[0]["headers"] == [{"key": name, "value": value} for name, value in expected]
    assert found[1]["headers"] is None


def test_ten_thousand_headers_of_record_are_read(broker: KafkaBroker, topic: str) -> None:
    headers = [(b"name-%d" % n, b"%d" % n) for n in range(10_000)]
    produce_raw(broker.bootstrap, topic, [RawBytes(headers=headers), RawBytes()])
    first, second = rows(broker, topic, 2)
    expected = [{"key": name.decode(), "value": value} for name, value in headers]
    assert (first["headers"], second["headers"]) == (expected, None)


@pytest.mark.parametrize("time", [-(2**63), -5, -1, 0, 253_402_300_800_000, 2**63 - 1])
def test_timestamp_of_any_size_is_read_unchanged(
    broker: KafkaBroker, topic: str, time: int
) -> None:
    produce_raw(broker.bootstrap, topic, [RawBytes(timestamp=time)])
    (found,) = rows(broker, topic, 1)
    assert found["timestamp"] == time


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_each_compression_codec_are_read(
    broker: KafkaBroker, topic: str, codec: str
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec})
    for n in range(100):
        producer.produce(topic, b"value" * n, b"k", 0)
    assert producer.flush(30) == 0
    assert [row["value"] for row in rows(broker, topic, 100)] == [b"value" * n for n in range(100)]


@pytest.mark.parametrize("name", ["\ud800", "a\0b"], ids=["surrogate", "NUL"])
def test_writer_rejects_header_name_that_cannot_be_encoded(
    broker: KafkaBroker, topic: str, name: str
) -> None:
    writer = Kafka(broker.bootstrap).writer()
    try:
        with pytest.raises(RecordRefusedError, match="header name"):
            writer.write(topic, 0, b"k", b"v", 1_000, ((name, b"1"),))
    finally:
        writer.close()


def test_headers_are_written_with_the_bytes_that_were_read(broker: KafkaBroker, topic: str) -> None:
    headers: Headers = (("", None), ("\u00e4\U0001f600", b"\xff"), ("a", b""), ("a", b"2"))
    writer = Kafka(broker.bootstrap).writer()
    writer.write(topic, 0, b"k", b"v", 1_000, headers).result(30)
    writer.close()
    (found,) = read_all(Kafka(broker.bootstrap), topic)
    assert found.headers == headers
