"""Data written by Java's library is read, and written again with the same bytes."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from kstreams_avro import avro_schema, avro_serde

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent / "golden.json").read_text("utf-8")
)  # made by Golden.java in this folder

VALUES: dict[str, Any] = {
    "scalars": {
        "flag": True,
        "small": -(2**31),
        "large": 2**63 - 1,
        "half": 1.5,
        "whole": -0.1,
        "data": b"\x00\xff",
        "text": "hé 😀",
        "nothing": None,
        "four": b"\x01\x02\x03\x04",
        "suit": "HEARTS",
    },
    "logical": {
        "day": date(1969, 12, 31),
        "millis": time(23, 59, 58, 7000),
        "micros": time(1, 2, 3, 4),
        "at": datetime(1969, 12, 31, 23, 59, 59, 999_000, timezone.utc),
        "exactly": datetime(2026, 11, 22, 19, 6, 18, 123_456, timezone.utc),
        "local": datetime(2026, 11, 22, 19, 6, 18, 5),
        "price": Decimal("-1.28"),
        "fixed": Decimal("123456789.125"),
        "id": UUID("00112233-4455-6677-8899-aabbccddeeff"),
    },
    "nested": {
        "items": [
            {"name": f"item {number}", "count": number if number % 3 else None}
            for number in range(20)
        ],
        "counts": {"a": 1, "b": -1},
        "rows": [[1, 2], [], [-3]],
        "first": {"name": "item 1", "count": 1},
    },
    "tree": {
        "value": 1,
        "children": [
            {"value": 2, "children": []},
            {"value": 3, "children": [{"value": 4, "children": []}]},
        ],
    },
    "union": ("Closed", {"id": 7, "why": "done"}),
}


@pytest.mark.parametrize("name", VALUES)
def test_avro_data_of_java_is_read_and_written_with_same_bytes(name: str) -> None:
    case = GOLDEN[name]
    serde = avro_serde(schema=case["schema"])
    plain, blocks = bytes.fromhex(case["plain"]), bytes.fromhex(case["blocking"])

    assert serde.serialize(VALUES[name]) == plain
    for data in (plain, blocks):  # blocks are preceded by their sizes
        assert serde.deserialize(data) == VALUES[name]
        column = pa.array([data, None] * 20, pa.binary())
        assert serde.deserialize_many(column) == [VALUES[name], None] * 20


@pytest.mark.parametrize("name", ["nested"])
def test_recorded_java_data_has_both_avro_block_encodings(name: str) -> None:
    assert GOLDEN[name]["plain"] != GOLDEN[name]["blocking"]


@pytest.mark.parametrize("name", ["backward", "forward"])
def test_avro_schema_resolution_equals_results_of_java(name: str) -> None:
    case = GOLDEN[name]
    serde = avro_serde(schema=case["reader"])
    reader = serde.reading(avro_schema(case["writer"]))
    written, expected = (bytes.fromhex(case[each]) for each in ("written", "read"))

    assert serde.serialize(reader.deserialize(written)) == expected
    column = reader.to_arrow(pa.array([written, None] * 20, pa.binary()))
    assert column.type == serde.arrow_type
    assert serde.from_arrow(column).to_pylist() == [expected, None] * 20


def test_avro_data_read_with_later_schema_equals_result_of_java() -> None:
    case = GOLDEN["backward"]
    reader = avro_serde(schema=case["reader"]).reading(avro_schema(case["writer"]))

    assert reader.deserialize(bytes.fromhex(case["written"])) == {
        "price": 1.5,
        "id": 7,
        "product": "tea",
        "note": "n",
        "state": "UNKNOWN",
        "tags": ["old"],
        "raw": b"\xff",
        "address": {"city": "?", "zip": None},
    }
