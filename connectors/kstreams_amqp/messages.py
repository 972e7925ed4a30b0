"""Conversion of AMQP messages to deliveries."""

from __future__ import annotations

import json

import pika
from pika.spec import Basic

from kstreams.intakes import Delivery

__all__ = ("delivery_of",)

_PROPERTIES = ("content_type", "correlation_id", "reply_to", "type")


def delivery_of(
    receipt: int, method: Basic.Deliver, properties: pika.BasicProperties, body: bytes
) -> Delivery:
    """Return the `Delivery` of an AMQP message.

    Args:
        receipt: The receiver's number for the delivery, by which it is acknowledged later.
        method: The delivery tag, the exchange and the routing key.
        properties: The properties of the message.
        body: The body of the message.
    """
    said = [("routing-key", method.routing_key), ("exchange", method.exchange)]
    said += [(name.replace("_", "-"), getattr(properties, name)) for name in _PROPERTIES]
    own = tuple((str(name), _bytes(value)) for name, value in (properties.headers or {}).items())
    about = tuple((f"amqp-{name}", _bytes(value)) for name, value in said if value)
    seconds = properties.timestamp
    return Delivery(
        body,
        receipt,
        properties.message_id or None,
        timestamp=None if seconds is None else int(seconds) * 1000,
        headers=(*own, *about),
    )


def _bytes(value: object) -> bytes | None:
    """Return a header's value as bytes; values that are neither text nor bytes become JSON."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return json.dumps(value, default=str).encode()
