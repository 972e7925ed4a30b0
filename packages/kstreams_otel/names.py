"""Names of metrics, spans and attributes.

Names follow the semantic conventions where these have one; other names are `kstreams.*`.

The messaging conventions are in development, and a branch renames `messaging.system`. So all names
are in this module.

Source: OpenTelemetry's semantic conventions for messaging, schema 1.44.0.
"""

from __future__ import annotations

from typing import Final

__all__ = (
    "CONSUMED",
    "CONSUMER_GROUP",
    "DESTINATION",
    "DURATION_BOUNDS_S",
    "ERROR_TYPE",
    "MESSAGE_COUNT",
    "OPERATION",
    "OPERATION_DURATION",
    "PARTITION",
    "PROCESS_DURATION",
    "SCHEMA_URL",
    "SCOPE",
    "SENT",
    "SYSTEM",
)

SCOPE: Final = "kstreams"
SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"

SYSTEM: Final = "messaging.system"
OPERATION: Final = "messaging.operation.name"
DESTINATION: Final = "messaging.destination.name"
PARTITION: Final = "messaging.destination.partition.id"
CONSUMER_GROUP: Final = "messaging.consumer.group.name"
MESSAGE_COUNT: Final = "messaging.batch.message_count"
ERROR_TYPE: Final = "error.type"

CONSUMED: Final = "messaging.client.consumed.messages"
SENT: Final = "messaging.client.sent.messages"
PROCESS_DURATION: Final = "messaging.process.duration"
OPERATION_DURATION: Final = "messaging.client.operation.duration"

DURATION_BOUNDS_S: Final = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
)
"""Bucket bounds of durations in seconds, as the conventions recommend."""
