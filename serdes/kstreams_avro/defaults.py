"""Conversion of field defaults, which are JSON in the schema, to Avro data."""

from __future__ import annotations

from kstreams_avro.datum import Json, Malformed
from kstreams_avro.json_datum import DEFAULT
from kstreams_avro.nodes import Node

__all__ = ("default_bytes",)


def default_bytes(node: Node, default: Json) -> bytes:
    """Return the Avro data of a default.

    Raises:
        Malformed: The default is not of the field's type.
    """
    try:
        return DEFAULT.write(node, default)
    except Malformed as exc:
        raise Malformed(f"the default does not match the schema: {exc}") from None
