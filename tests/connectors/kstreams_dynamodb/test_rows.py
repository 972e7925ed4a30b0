"""Items of the DynamoDB sink: written and refused ones."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from kstreams.errors import RecordRefusedError, SinkError
from tests.connectors.kstreams_dynamodb.tables import Tables
from tests.support.sinks.sink_writes import commit_of, given, write

pytestmark = pytest.mark.connectors


def test_items_have_values_encoded_by_type_and_replace_earlier_items(tables: Tables) -> None:
    tables.make("word")
    row = {"n": 0.1, "d": Decimal("1.50"), "b": b"\0", "l": [1, {"x": None}], "t": True}
    write(tables.sink(), given(("a", row), ("b", {"s": {"x", "y"}}), ("c", 3)), commit_of(1))
    found = {item["word"]: item for item in tables.items()}
    assert found["a"] == {
        "word": "a",
        "n": Decimal("0.1"),
        "d": Decimal("1.50"),
        "b": b"\0",
        "l": [1, {"x": None}],
        "t": True,
    }
    assert found["b"]["s"] == {"x", "y"}
    changed = given(("a", {"n": 2}), ("b", None), ("c", None), ("c", {"n": 5}), ("d", None))
    write(tables.sink(), changed, commit_of(2))
    found = {item["word"]: item for item in tables.items()}
    assert found == {"a": {"word": "a", "n": 2}, "c": {"word": "c", "n": 5}}


def test_items_without_a_valid_form_are_refused_and_all_others_are_written(
    tables: Tables,
) -> None:
    tables.make("word", index="rank")
    deep: Any = 1
    for _ in range(33):
        deep = [deep]
    bad: list[tuple[Any, Any]] = [
        ("nan", {"n": math.nan}),
        ("digits", {"n": 10**40}),
        ("object", {"n": object()}),
        ("large", {"n": "x" * 400 * 1024}),
        ("deep", {"n": deep}),
        ("", {"n": 1}),
        (5, {"n": 1}),
        ("x" * 2049, {"n": 1}),
        ("other", {"word": "else"}),
        ("index", {"rank": "text"}),
        ("name", {"": 1}),
        ("sets", {"s": set()}),
        ("row", [1]),
    ]
    sink = tables.sink(row=lambda _key, row: row)
    refused = write(sink, given(("a", {"rank": 1}), *bad, ("z", {"n": "x" * 300 * 1024})))
    assert [row.row for row in refused] == list(range(1, len(bad) + 1))
    assert "400" in refused[3].reason or "409600" in refused[3].reason
    assert sorted(str(item["word"]) for item in tables.items()) == ["a", "z"]


def test_batch_with_more_items_than_a_transaction_allows_is_written(tables: Tables) -> None:
    tables.make("word")
    pairs = [(f"k{n}", n) for n in range(250)]
    assert write(tables.sink(), given(*pairs, ("k0", -1), ("k1", None))) == []
    found = {item["word"]: item["total"] for item in tables.items()}
    assert found == {**dict(pairs[2:]), "k0": -1}


def test_key_of_two_attributes_needs_a_tuple_and_equal_numbers_are_the_same_key(
    tables: Tables,
) -> None:
    tables.make("shop", "day", types="SN")
    sink = tables.sink(key=("shop", "day"))
    rows = given(
        (("s", 1), 1), (("s", Decimal("1.0")), 2), ("s", 3), (("s", "1"), 4), (("t", 1), 5)
    )
    assert [row.row for row in write(sink, rows)] == [2, 3]
    found = sorted((item["shop"], item["day"], item["total"]) for item in tables.items())
    assert found == [("s", 1, 2), ("t", 1, 5)]
    write(sink, given((("s", 1.0), None)), commit_of(1))
    assert [item["shop"] for item in tables.items()] == ["t"]


def test_policy_fail_writes_no_item_of_batch_with_invalid_item(tables: Tables) -> None:
    tables.make("word")
    with pytest.raises(RecordRefusedError, match="ValueError"):
        write(tables.sink(), given(("a", 1), ("b", math.inf), fails=True))
    assert tables.items() == []


def test_refusal_by_the_server_fails_the_batch_and_names_the_item(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.make("word")
    monkeypatch.setattr("kstreams_dynamodb.items._LARGEST_ITEM", 1 << 20)
    with pytest.raises(SinkError, match="exceeded") as told:
        write(tables.sink(), given(("a", 1), ("b", "x" * 410 * 1024)))
    assert told.value.code == "ValidationException" or "'b'" in str(told.value)
    assert tables.items() == []


def test_missing_table_or_wrong_key_is_reported_at_the_start(tables: Tables) -> None:
    with pytest.raises(SinkError, match="no table"):
        tables.sink().prepare()
    tables.make("word", "day")
    with pytest.raises(SinkError, match=r"is \('word', 'day'\), not key=\('word',\)"):
        tables.sink().prepare()
