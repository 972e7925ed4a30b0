"""Cost of Confluent's serializers and deserializers; runs in a separate environment.

Reads a JSON object: records, rounds, and by format the schema and the rows, in hex. Writes a JSON
object: microseconds of processor time per record.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PLACE = SerializationContext("topic", MessageField.VALUE)
_WRITING = {"auto.register.schemas": False, "use.latest.version": True}


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    schema: Any = Schema  # not installed in the library's environment
    found = {}
    for name, case in given["cases"].items():
        registry = SchemaRegistryClient.new_client({"url": f"mock://{name}"})
        kind = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}[name]
        number = registry.register_schema("topic-value", schema(case["schema"], kind))
        head = b"\0" + number.to_bytes(4, "big")
        rows = [head + bytes.fromhex(row)[5:] for row in case["rows"]]
        reader, writer = _MAKERS[name](registry, case["schema"])
        values = [reader(row, _PLACE) for row in rows]
        found[name] = {
            "read one by one": _micros(reader, rows),
            "write one by one": _micros(writer, values),
        }
    json.dump(found, sys.stdout)


def _avro(registry: Any, schema: str) -> tuple[Any, Any]:
    return AvroDeserializer(registry, schema), AvroSerializer(registry, schema, conf=_WRITING)


def _json(registry: Any, schema: str) -> tuple[Any, Any]:
    writer = JSONSerializer(schema, registry, conf=_WRITING)
    return JSONDeserializer(schema, schema_registry_client=registry), writer


def _protobuf(registry: Any, schema: str) -> tuple[Any, Any]:
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema)))
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("benchmark.Order"))
    options = {"use.deprecated.format": False}
    reader = ProtobufDeserializer(message, options, registry)
    return reader, ProtobufSerializer(message, registry, {**options, **_WRITING})


_MAKERS: dict[str, Callable[[Any, str], tuple[Any, Any]]] = {
    "avro": _avro,
    "json-schema": _json,
    "protobuf": _protobuf,
}


def _micros(work: Callable[[Any, Any], object], given: list[Any]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for each in given:
            work(each, _PLACE)
        best = min(best, time.process_time() - start)
    return best / len(given) * 1e6


if __name__ == "__main__":
    main()
