"""Stores of objects: shown by the recorded name, by a given serde, and in views."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kstreams import TEXT, Serde, View, key_value_store
from kstreams.serde import compressed, csv_row
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_xml import xml_serde
from tests.support.apps.committing_app import Committing
from tests.support.cli.command_line import kstreams, say

WHERE = ("--checkpoint", "c")
SHOWN = {"id": 1, "item": "tea"}


@dataclass
class Order:
    id: int
    item: str


MODULE = """
from dataclasses import dataclass
from kstreams.serde import csv_row
from kstreams_xml import xml_serde

@dataclass
class Order:
    id: int
    item: str

CSV, XML = csv_row(Order), xml_serde(Order)
"""


HOSTILE = (("b\x1b[2J", Order(2, "\x1b]0;x\x07")),)


def committed(serde: Serde[Any], *more: tuple[str, Order]) -> Any:
    spec = key_value_store("orders", key=TEXT, value=serde)
    made: Any = Committing(Path("c").absolute(), spec)
    made.put([("a", Order(1, "tea")), *more])
    return spec


def json_of(text: str) -> object:
    return json.loads(text)


NAMED = pytest.mark.parametrize(
    "serde",
    [json_serde(Order), msgpack_serde(Order), compressed(json_serde(Order))],
    ids=lambda serde: serde.name,
)
OWN = pytest.mark.parametrize(
    ("serde", "name"), [(csv_row(Order), "CSV"), (xml_serde(Order), "XML")], ids=["csv", "xml"]
)


@NAMED
def test_state_commands_decode_values_by_serde_name_in_checkpoint(serde: Serde[Any]) -> None:
    committed(serde, *HOSTILE)
    assert json_of(say("state", "get", "viewed", "orders", "a", *WHERE)) == SHOWN
    table = say("state", "scan", "viewed", "orders", *WHERE)
    assert all(line.isprintable() for line in table.splitlines())
    kstreams("state", "export", "viewed", "orders", "orders.parquet", *WHERE)
    rows = {row["key"]: row["value"] for row in pq.read_table("orders.parquet").to_pylist()}
    assert json_of(rows["a"]) == SHOWN


@OWN
def test_state_get_decodes_values_by_serde_option(serde: Serde[Any], name: str) -> None:
    committed(serde, *HOSTILE if name == "CSV" else ())  # XML has no such characters
    assert "tea" in say("state", "get", "viewed", "orders", "a", *WHERE)  # its bytes
    Path("shop.py").write_text(MODULE)
    given = ("--value", f"shop:{name}")
    assert json_of(say("state", "get", "viewed", "orders", "a", *WHERE, *given)) == SHOWN
    wrong = kstreams("state", "get", "viewed", "orders", "a", *WHERE, "--value", "cvs")
    assert (wrong.exit_code, "there is no serde 'cvs'" in wrong.stderr) == (2, True)


@NAMED
def test_view_decodes_values_to_objects(serde: Serde[Any]) -> None:
    with View(Path("c").absolute(), committed(serde, *HOSTILE)) as view:
        assert view.get("a") == Order(1, "tea")
        assert [key for key, _ in view.items()] == ["a", "b\x1b[2J"]
