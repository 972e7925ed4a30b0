"""A schema serde for tests: fields by name, written in the order of the schema."""

from __future__ import annotations

import json

from devtools.servers.fake_registry import FakeRegistry
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import Schema, SchemaReference, SchemaSerde, Serde


def schema_text(*fields: str, name: str = "Order") -> str:
    return json.dumps({"name": name, "fields": list(fields)}, sort_keys=True)


class Fields(SchemaSerde[dict[str, str]]):
    """Texts by name, joined by commas; fields that the writer lacks are "-" if the name ends in
    `?`.
    """

    type_token = dict

    def __init__(
        self,
        *fields: str,
        writer: tuple[str, ...] = (),
        name: str = "Order",
        references: tuple[SchemaReference, ...] = (),
    ) -> None:
        self.fields, self.writer, self.references = fields, writer or fields, references
        self.schema = Schema("AVRO", schema_text(*fields, name=name), name, (), references)
        self.name = f"fields[{name}]:{self.schema.fingerprint}"

    def serialize(self, value: dict[str, str]) -> bytes:
        if set(value) != set(self.fields):
            raise SerializationError(f"expected {self.fields}, got {value}")
        return ",".join(value[field] for field in self.fields).encode()

    def deserialize(self, data: bytes) -> dict[str, str]:
        texts = data.decode().split(",")
        if len(texts) != len(self.writer):
            raise DeserializationError(f"expected {len(self.writer)} fields, got {len(texts)}")
        found = dict(zip(self.writer, texts, strict=True))
        return {field: found.get(field, "-") for field in self.fields}

    def reading(self, writer: Schema) -> Serde[dict[str, str]]:
        if writer.kind != "AVRO":
            raise ValueError(f"written as {writer.kind}")
        fields = tuple(json.loads(writer.text)["fields"])
        for field in self.fields:
            if field not in fields and not field.endswith("?"):
                raise ValueError(f"field {field!r} has no default, and was not written")
        return self if fields == self.fields else Fields(*self.fields, writer=fields)

    def _values(self) -> tuple[object, ...]:
        return self.fields, self.writer, self.schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self.name)


class Messages(SchemaSerde[bytes]):
    """Bytes framed as protobuf, of the message at some indexes."""

    def __init__(self, *indexes: int) -> None:
        self.schema = Schema("PROTOBUF", "message A {}", "A", indexes)
        self.name = f"messages:{self.schema.fingerprint}"

    def serialize(self, value: bytes) -> bytes:
        return value

    def deserialize(self, data: bytes) -> bytes:
        return data

    def reading(self, writer: Schema) -> Serde[bytes]:
        if writer.message_indexes != self.schema.message_indexes:
            raise ValueError(f"message {list(writer.message_indexes)} is another one")
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(self.name)


def guid_frame(fake: FakeRegistry, number: int) -> bytes:
    return b"\x01" + fake.guid(number).bytes
