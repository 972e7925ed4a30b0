"""Serdes named on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from kstreams import KStreamsError, Serde, plugins
from kstreams.errors import DeserializationError
from kstreams.serde import SerdeByText, SerdeRequest
from kstreams_cli import formats
from kstreams_cli.formats import Format, find_format, find_serde, offered_names, recorded_serde
from kstreams_cli.usage import WrongUsageError
from tests.support.cli.command_line import kstreams, say


class Cents(Serde[int]):
    """A serde of an installed package: cents as text, with a currency as its argument."""

    name = "cents"
    type_token = int

    def __init__(self, request: SerdeRequest) -> None:
        self.request = request

    def serialize(self, value: int) -> bytes:
        return b"%d" % value

    def deserialize(self, data: bytes) -> int:
        if data == b"panic":
            raise SystemExit
        return int(data)


def make_cents(request: SerdeRequest) -> Serde[int]:
    if not request.text:
        raise ValueError("which currency?")
    return Cents(request)


CENTS = SerdeByText("cents:CURRENCY", "money", make_cents, lambda name: None)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register a serde, an object that is none, and a broken module as plugins."""
    group = "kstreams.serde_texts"
    offers = {
        "cents": f"{__name__}:CENTS",
        "odd": f"{__name__}:make_cents",
        "broken": "no_such_module:X",
    }
    points = [EntryPoint(name, value, group) for name, value in offers.items()]
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: EntryPoints([p for p in points if p.group == group])
    )
    plugins._found.cache_clear()
    yield
    plugins._found.cache_clear()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("text", "text"), ("json", "json"), ("int64", "int64"), ("lines", "lines")),
        *(("gzip:int64", "gzip(int64)"), ("gzip", "gzip(text)")),
        ("zstd:gzip:json", "zstd(gzip(json))"),
        ("msgpack", "msgpack[Any]"),
    ],
)
def test_name_is_resolved_to_a_serde(text: str, name: str) -> None:
    assert find_serde(text).name == name


def test_installed_package_provides_serdes_by_name(package: None) -> None:
    found: Any = find_serde("cents:EUR", topic="t", part="key", registry="http://r")
    asked = found.request
    assert (asked.text, asked.topic, asked.part, asked.registry) == ("EUR", "t", "key", "http://r")
    assert find_serde("gzip:cents:EUR").name == "gzip(cents)"
    assert offered_names()[-3:] == ["broken", "cents", "odd"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cents", "serde 'cents': which currency?; usage: cents:CURRENCY"),
        ("gzip:cents", "which currency?"),
        ("odd", "expected a SerdeByText as 'odd'"),
        ("broken", "No module named 'no_such_module'"),
        ("cent", "there is no serde 'cent'; did you mean 'cents'?"),
        ("unheard-of", "expected text, json, int64"),
        ("text:UTF-16", "serde text takes no text after its name, got 'UTF-16'; usage: text"),
        ("gzip:jsn", "there is no serde 'jsn'; did you mean 'json'?"),
        ("no_such_module:ORDERS", "there is no module 'no_such_module'"),
    ],
)
def test_unknown_serde_suggests_valid_ones(package: None, text: str, problem: str) -> None:
    with pytest.raises(WrongUsageError) as caught:
        find_serde(text)
    assert problem in caught.value.message


def test_unknown_serde_of_an_extra_that_is_not_installed_names_the_extra(
    package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "missing_extra", lambda name: name)

    with pytest.raises(WrongUsageError) as caught:
        find_serde("no_such_format:order.avsc")

    assert "there is no module 'no_such_format'" in caught.value.message
    assert "pip install 'kstreams-spark[no_such_format]'" in caught.value.message


def test_serde_without_its_type_argument_is_refused() -> None:
    with pytest.raises(WrongUsageError, match="'xml' needs a type"):
        find_serde("xml")


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        *(("text", "text"), ("int64", "int64"), ("lines", "lines"), ("json[Order]", "json")),
        *(("gzip(json[Order])", "gzip(json)"), ("zstd(text)", "zstd(text)")),
        ("msgpack[Order]", "msgpack[Any]"),
        ("msgpack-by-place[Point]", "msgpack[Any]"),
    ],
)
def test_recorded_name_is_resolved_to_a_serde(recorded: str, name: str) -> None:
    found = recorded_serde(recorded)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("recorded", ["point", "zstd:1a2b3c4d(text)", "gzip(point)", "json[", ""])
def test_unknown_serde_name_in_checkpoint_resolves_to_none(recorded: str) -> None:
    assert recorded_serde(recorded) is None


def test_undecodable_bytes_are_shown_unchanged(package: None) -> None:
    cents = find_format("cents:EUR")
    assert cents.read(b"5") == (5, True)
    for data in (b"five", b"panic"):
        assert cents.read(data) == (data, False)
    assert cents.read(None) == (None, True)


def test_unavailable_registry_is_not_a_bad_record() -> None:
    class Away(Cents):
        def __init__(self) -> None:
            """Take no arguments."""

        def deserialize(self, data: bytes) -> Any:
            if data == b"bad":
                raise DeserializationError("bad")
            raise KStreamsError("the registry is unavailable")

    assert Format(Away()).read(b"bad") == (b"bad", False)
    with pytest.raises(KStreamsError, match="unavailable"):
        Format(Away()).read(b"good")


# ------------------------------------------------------------ commands


def descriptor_set(directory: Path) -> Path:
    """Write a descriptor set of a message with an id and an item."""
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate((("id", 5), ("item", 9)), start=1):
        order.field.add(name=name, number=number, type=kind, label=1)
    path = directory / "shop.binpb"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    return path


def avro_file(directory: Path) -> Path:
    """Write the schema of a record with an id and an item."""
    fields = [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}]
    path = directory / "order.avsc"
    path.write_text(json.dumps({"type": "record", "name": "Order", "fields": fields}))
    return path


def test_topics_produce_and_tail_convert_json_by_schema_files(tmp_path: Path) -> None:
    line = '{"id": 1, "item": "tea"}'
    for number, serde in enumerate(
        (f"protobuf:{descriptor_set(tmp_path)}#shop.Order", f"avro:{avro_file(tmp_path)}")
    ):
        topic, named = f"t{number}", ("--value-serde", serde)
        say("topics", "create", topic, "-p", "1")
        say("topics", "produce", topic, *named, given=f"a\t{line}\n")
        assert json.loads(say("topics", "tail", topic, *named).split("\t")[4]) == json.loads(line)
        row = json.loads(say("topics", "tail", topic, *named, "--format", "json"))
        assert row["value"] == json.loads(line)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("protobuf", "usage: protobuf:FILE#MESSAGE"),
        ("protobuf:x.binpb", "usage: protobuf:FILE#MESSAGE"),
        ("protobuf:x.binpb#shop.Order", "No such file"),
        ("avro", "usage: avro:FILE"),
        ("avro:x.avsc", "No such file"),
        ("msgpack:x", "expected nothing after 'msgpack', got 'x'"),
    ],
)
def test_missing_schema_file_is_refused_with_the_expected_form(text: str, problem: str) -> None:
    with pytest.raises(WrongUsageError) as caught:
        find_serde(text)
    assert problem in caught.value.message


MODULE = """
from dataclasses import dataclass
import msgspec
from kstreams.serde import compressed, csv_row
from kstreams.windows import Windowed
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_xml import xml_serde

@dataclass
class Order:
    id: int
    item: str | None = None

JSON, MSGPACK, CSV = json_serde(Order), msgpack_serde(Order), csv_row(Order)
XML, PACKED = xml_serde(Order, path="order"), compressed(json_serde(Order))
"""


@pytest.mark.parametrize("name", ["JSON", "MSGPACK", "CSV", "XML", "PACKED"])
def test_objects_are_produced_and_shown_as_json(name: str) -> None:
    Path("shop.py").write_text(MODULE)
    say("topics", "create", "t", "-p", "1")
    line = '{"id": 1, "item": "tea"}'
    serde = ("--value-serde", f"shop:{name}")
    say("topics", "produce", "t", *serde, given=f"a\t{line}\n")
    shown = say("topics", "tail", "t", *serde).split("\t")[4]
    assert json.loads(shown) == json.loads(line)
    row = json.loads(say("topics", "tail", "t", *serde, "--format", "json"))
    assert row["value"] == json.loads(line)
    wrong = kstreams("topics", "produce", "t", *serde, given='a\t{"id": "one"}\n')
    assert wrong.exit_code == 1
    assert "line 1: not a value of serde " in wrong.stderr


def test_serdes_command_lists_all_serdes(package: None) -> None:
    rows = [line.split() for line in say("serdes").splitlines()]
    assert ["cents:CURRENCY", "money"] in rows
    assert ["gzip:SERDE", "values", "of", "another", "serde,", "compressed", "with", "gzip"] in rows
    assert next(row for row in rows if row[0] == "broken")[1:3] == ["No", "module"]
    assert next(row for row in rows if row[0] == "odd")[1:3] == ["expected", "a"]


def test_help_of_topic_commands_names_serdes_and_registry() -> None:
    for command in ("produce", "tail"):
        text = " ".join(say("topics", command, "--help").split())
        assert "kstreams serdes" in text
        assert "KSTREAMS_REGISTRY" in text
