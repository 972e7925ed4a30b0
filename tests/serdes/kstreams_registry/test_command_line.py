"""Serdes with a registry, as named on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devtools.servers.fake_registry import FakeRegistry
from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import SerdeRequest
from kstreams_avro import avro_serde
from kstreams_json import json_serde
from kstreams_registry.by_text import BY_TEXT
from tests.support.cli.command_line import say

ORDER = '{"type":"record","name":"Order","fields":[{"name":"item","type":"string"}]}'


def made(fake: FakeRegistry | None, text: str = "") -> Serde[object]:
    def inner(given: str) -> Serde[object]:
        return json_serde(object) if given == "json" else avro_serde(schema=ORDER)

    url = None if fake is None else fake.url.replace("//", "//ann:p%40ss@")
    return BY_TEXT.make(SerdeRequest(text, inner, "orders", "value", url))


def test_records_are_read_by_the_writer_schema_and_written_by_the_latest(
    fake: FakeRegistry,
) -> None:
    serde = made(fake)
    old = fake.add("orders-value", '{"type":"array","items":"long"}')
    assert serde.deserialize(b"\0\0\0\0%c\x02\x04\x00" % old) == [2]
    new = fake.add("orders-value", ORDER)
    data = serde.serialize({"item": "tea"})
    assert data == b"\0\0\0\0%c\x06tea" % new
    assert serde.deserialize(data) == {"item": "tea"}
    assert fake.headers["Authorization"] == "Basic YW5uOnBAc3M="


def test_command_line_reads_json_of_any_schema(fake: FakeRegistry) -> None:
    number = fake.add("orders-value", "{}", "JSON")
    assert made(fake).deserialize(b'\0\0\0\0%c{"a": 1}' % number) == {"a": 1}


def test_schema_serde_named_on_command_line_uses_registry_frame(fake: FakeRegistry) -> None:
    assert made(fake, "avro:order.avsc").name.startswith("confluent(avro[")


def test_error_of_unreadable_record_names_option_to_read_it(fake: FakeRegistry) -> None:
    fake.add("orders-value", "message A {}", "PROTOBUF")
    serde = made(fake)
    with pytest.raises(DeserializationError, match="registry:protobuf:FILE#MESSAGE"):
        serde.deserialize(b"\0\0\0\0\x01\0")
    with pytest.raises(DeserializationError, match="no schema with id 9"):
        serde.deserialize(b"\0\0\0\0\x09\0")
    with pytest.raises(DeserializationError, match="looks like plain JSON"):
        serde.deserialize(b"{}")
    with pytest.raises(SerializationError, match="registry:protobuf:FILE#MESSAGE"):
        serde.serialize({})


def test_command_without_registry_url_is_an_error(fake: FakeRegistry) -> None:
    with pytest.raises(ValueError, match="--registry URL"):
        made(None)


def test_commands_write_and_show_records_of_a_registry(
    fake: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fake.add("orders-value", ORDER)
    named = ("--value-serde", "registry", "--registry", fake.url)
    say("topics", "create", "orders", "-p", "1")
    say("topics", "produce", "orders", *named, given='a\t{"item": "tea"}\n')
    shown = json.loads(say("topics", "tail", "orders", *named, "--format", "json"))
    assert shown["value"] == {"item": "tea"}
