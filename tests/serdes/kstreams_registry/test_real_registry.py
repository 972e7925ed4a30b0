"""Requests to a real registry."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from kstreams.serde import Schema, SchemaReference
from kstreams_registry import SchemaRegistry
from kstreams_registry.requests import path, request

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def avro(*fields: Any, doc: str = "") -> Schema:
    own = [{"name": "id", "type": "long"}, *fields]
    said = {"type": "record", "name": "Order", "fields": own, **({"doc": doc} if doc else {})}
    return Schema("AVRO", json.dumps(said), "Order")


def subject() -> str:
    return f"s{uuid.uuid4().hex}-value"


# --------------------------------------------------------------------------- requests


def test_schema_is_registered_found_and_read(registry_url: str) -> None:
    registry, own = SchemaRegistry(registry_url), subject()
    assert registry.latest(own) is None
    assert registry.find(own, avro()) is None
    made = registry.register(own, avro())
    assert registry.register(own, avro()) == made
    found = registry.find(own, avro(doc="an order"))
    assert found is not None
    assert (found.id, found.version) == (made.id, 1)
    read = registry.schema(made.id)
    assert read is not None
    assert json.loads(read.text) == json.loads(avro().text)
    assert registry.schema(1 << 30) is None


@pytest.mark.long
def test_incompatible_schema_is_found_before_it_is_registered(registry_url: str) -> None:
    registry, own = SchemaRegistry(registry_url), subject()
    assert registry.level(own) == "NONE"
    registry.register(own, avro())
    settings = registry._settings
    request(settings, path("config", own), {"compatibility": "BACKWARD"}, "PUT")
    assert registry.level(own) == "BACKWARD"
    fits = avro({"name": "n", "type": ["null", "string"], "default": None})
    misfits = avro({"name": "n", "type": "string"})
    assert registry.misfits(own, fits) == ()
    assert registry.misfits(own, misfits)
    with pytest.raises(ValueError, match="Incompatible"):
        registry.register(own, misfits)


def test_register_and_read_include_the_references_of_a_schema(registry_url: str) -> None:
    registry, own, file = SchemaRegistry(registry_url), subject(), f"u{uuid.uuid4().hex}.proto"
    unit = Schema("PROTOBUF", 'syntax = "proto3";\npackage u;\nmessage Unit {}\n', "u.Unit", (0,))
    order = Schema(
        "PROTOBUF",
        f'syntax = "proto3";\npackage u;\nimport "{file}";\nmessage Order {{\n'
        "  .u.Unit unit = 1;\n}\n",
        "u.Order",
        (0,),
        (SchemaReference(file, unit),),
    )
    assert registry.find(own, order) is None
    made = registry.register(own, order)
    read = registry.schema(made.id)
    assert read is not None
    assert [(each.name, each.schema.text) for each in read.references] == [(file, unit.text)]
