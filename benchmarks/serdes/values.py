"""The measured values: seven fields, the same in each format."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ("Order", "file_proto", "message_class", "orders")

_FIELDS = {
    "id": "INT64",
    "customer": "STRING",
    "item": "STRING",
    "count": "INT32",
    "price": "DOUBLE",
    "paid": "BOOL",
    "tags": "STRING",
}


@dataclass(frozen=True)
class Order:
    """An order of a customer."""

    id: int
    customer: str
    item: str
    count: int
    price: float
    paid: bool
    tags: list[str]


def orders(count: int) -> list[Order]:
    """Return orders of 400 customers, the same each time."""
    chance = random.Random(7)
    return [
        Order(
            number,
            f"customer-{chance.randrange(400)}",
            chance.choice(("green tea", "salt", "rice")),
            chance.randrange(1, 20),
            chance.randrange(10_000) / 100,
            chance.random() < 0.5,
            ["new", "gift"],
        )
        for number in range(count)
    ]


def file_proto() -> descriptor_pb2.FileDescriptorProto:
    """Return the `.proto` file of an order."""
    file = descriptor_pb2.FileDescriptorProto(
        name="benchmark/order.proto", package="benchmark", syntax="proto3"
    )
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(_FIELDS.items(), 1):
        field = message.field.add(name=name, number=number)
        field.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind}")
        repeated = name == "tags"
        field.label = (
            descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
            if repeated
            else descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        )
    return file


def message_class() -> Any:
    """Return the message class, as the Protobuf compiler would generate it."""
    pool: Any = descriptor_pool
    pool = pool.Default()
    pool.Add(file_proto())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("benchmark.Order"))
