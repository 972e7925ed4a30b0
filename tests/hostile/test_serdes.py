"""Small values that are costly or wrong: a typed error, in bounded memory and time."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from google.protobuf import struct_pb2
from google.protobuf.wrappers_pb2 import StringValue

from kstreams import TEXT, Serde
from kstreams.serde import compressed, csv_row
from kstreams_avro import avro_serde
from kstreams_avro.varints import put_long
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_protobuf import protobuf_serde
from kstreams_xml import xml_serde
from tests.hostile.memory_limit import MIB, outcome_of


@dataclass
class Row:
    """A row of two columns."""

    a: str
    b: int = 0


@dataclass
class Tree:
    """A recursive type."""

    items: list[Tree] = field(default_factory=list)


@dataclass
class Numbers:
    """A list of numbers."""

    n: list[int]


def number(value: int) -> bytes:
    out = bytearray()
    put_long(out, value)
    return bytes(out)


@cache
def zeros(size: int) -> bytes:
    return b"0" * size


def of_no_length() -> bytes:
    return zstandard.ZstdCompressor(write_content_size=False).compress(zeros(100 * MIB))


def of_a_wide_window() -> bytes:
    """Return a zstd frame whose header requires 2 GiB of memory."""
    settings = zstandard.ZstdCompressionParameters(window_log=31, write_content_size=False)
    engine = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return engine.compress(zeros(5 * MIB)) + engine.flush()


def billion_laughs() -> bytes:
    entities = b"".join(
        b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10 if n else b"lol") for n in range(10)
    )
    return b"<!DOCTYPE Row [" + entities + b"]><Row><a>&l9;</a></Row>"


ENTITY_FILE = b'<!DOCTYPE Row [<!ENTITY x SYSTEM "file:///dev/zero">]><Row><a>&x;</a></Row>'
Case = tuple[Callable[[], Serde[Any]], Callable[[], bytes]]
CASES: dict[str, Case] = {
    "gzip bomb": (lambda: compressed(TEXT, "gzip"), lambda: gzip.compress(zeros(100 * MIB))),
    "gzip of many bombs": (
        lambda: compressed(TEXT, "gzip"),
        lambda: gzip.compress(zeros(3 * MIB)) * 100,
    ),
    "gzip of a text that is no text": (
        lambda: compressed(TEXT, "gzip"),
        lambda: gzip.compress(b"") * 100_000 + gzip.compress(b"\xff"),
    ),
    "zstd bomb": (
        lambda: compressed(TEXT),
        lambda: zstandard.ZstdCompressor().compress(zeros(100 * MIB)),
    ),
    "zstd bomb of no length": (lambda: compressed(TEXT), of_no_length),
    "zstd of a wide window": (lambda: compressed(TEXT), of_a_wide_window),
    "xml entities": (lambda: xml_serde(Row), billion_laughs),
    "xml entity of a file": (lambda: xml_serde(Row), lambda: ENTITY_FILE),
    "xml depth": (lambda: xml_serde(Row), lambda: b"<Row>" * 500_000),
    "xml text": (lambda: xml_serde(Row), lambda: b"<Row><a>" + zeros(12 * MIB) + b"</a></Row>"),
    "json depth": (lambda: json_serde(Tree), lambda: b'{"items":[' * 500_000),
    "json number": (lambda: json_serde(Numbers), lambda: b'{"n":[' + b"9" * (8 * MIB) + b"]}"),
    "msgpack array": (lambda: msgpack_serde(list[int]), lambda: b"\xdd\xff\xff\xff\xff"),
    "msgpack map": (lambda: msgpack_serde(dict[str, int]), lambda: b"\xdf\xff\xff\xff\xff"),
    "msgpack bytes": (lambda: msgpack_serde(bytes), lambda: b"\xc6\xff\xff\xff\xff"),
    "msgpack text": (lambda: msgpack_serde(str), lambda: b"\xdb\xff\xff\xff\xff"),
    "msgpack extension": (lambda: msgpack_serde(Any), lambda: b"\xc9\xff\xff\xff\xff\x01"),
    "msgpack depth": (lambda: msgpack_serde(list[Any]), lambda: b"\x91" * MIB),
    "msgpack arrays in arrays": (
        lambda: msgpack_serde(list[Any]),
        lambda: b"\xdd\x7f\xff\xff\xff" * 200,
    ),
    "avro depth": (lambda: avro_serde(Tree), lambda: b"\x02" * MIB),
    "avro array": (lambda: avro_serde(Numbers), lambda: number(2**40) + b"\x00" * 100),
    "avro array of a negative block": (
        lambda: avro_serde(Numbers),
        lambda: number(-(2**40)) + number(2**50) + b"\x00" * 100,
    ),
    "avro text": (lambda: avro_serde(Row), lambda: number(2**50) + b"x"),
    "avro number": (lambda: avro_serde(Numbers), lambda: b"\xff" * MIB),
    "avro json depth": (
        lambda: avro_serde(Tree, encoding="json"),
        lambda: b'{"items":[' * 500_000,
    ),
    "protobuf depth": (
        lambda: protobuf_serde(struct_pb2.Value),
        lambda: nested_messages(20_000),
    ),
    "protobuf length": (lambda: protobuf_serde(StringValue), lambda: b"\x0a\xff\xff\xff\xff\x07x"),
    "protobuf groups": (lambda: protobuf_serde(StringValue), lambda: b"\x13" * MIB),
    "protobuf number": (lambda: protobuf_serde(StringValue), lambda: b"\x10" + b"\xff" * MIB),
    "csv fields": (lambda: csv_row(Row), lambda: b"," * (16 * MIB)),
    "csv fields in quotes": (lambda: csv_row(Row), lambda: b'""' + b',""' * (4 * MIB)),
    "csv number": (lambda: csv_row(Row), lambda: b"a," + b"9" * (8 * MIB)),
    "csv quote": (lambda: csv_row(Row), lambda: b'"' + b"," * (16 * MIB)),
}  # fmt: skip


def nested_messages(depth: int) -> bytes:
    """Return nested lists, as `google.protobuf.Value` encodes them."""
    parts: list[bytes] = []
    size = 0
    for _ in range(depth):
        for field_ in (b"\x0a", b"\x32"):  # values of a ListValue, list_value of a Value
            head = field_ + _varint(size)
            parts.append(head)
            size += len(head)
    return b"".join(reversed(parts))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


@pytest.mark.parametrize("name", CASES)
def test_hostile_value_raises_typed_error(name: str) -> None:
    make, data = CASES[name]
    serde, given = make(), data()
    column = pa.array([given, given], pa.binary())
    reads: dict[str, Callable[[], object]] = {
        "one": lambda: serde.deserialize(given),
        "many": lambda: serde.deserialize_many(column),
        "columns": lambda: serde.to_arrow(column),
    }
    for way, read in reads.items():
        found = outcome_of(read, most=192 * MIB)
        is_undecoded = way == "columns" and serde.arrow_type == pa.binary()
        expected = "fine" if is_undecoded else "DeserializationError: "
        assert found.startswith(expected), (way, found)
