"""Conversion of JSON from the command line to values of a schema."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from kstreams_avro.datum import Json, Malformed
from kstreams_avro.nodes import Array, Fixed, Map, Node, Primitive, Record, Union
from kstreams_avro.writing import writer_of

__all__ = ("value_from_json",)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


_BY_TEXT: dict[type, Callable[[Any], object]] = {
    datetime: _moment,
    date: date.fromisoformat,
    time: time.fromisoformat,
    UUID: UUID,
    Decimal: lambda content: Decimal(str(content)),
}


def value_from_json(node: Node, content: Json) -> object:
    """Convert JSON to a value of a schema without classes.

    Dates and times are ISO 8601, decimals are text or numbers, bytes are text of the characters up
    to U+00FF, as in defaults.

    Raises:
        Malformed: The JSON does not match the schema. The message has the field.
    """
    match node, content:
        case ((Primitive() | Fixed()), _):
            return _scalar(node, content)
        case Array(), list():
            return [value_from_json(node.items, item) for item in content]
        case Map(), dict():
            return {key: value_from_json(node.values, item) for key, item in content.items()}
        case Record(), dict():
            return _record(node, content)
        case Union(), _:
            return _branch(node, content)
        case _:
            return content  # the writer checks it


def _scalar(node: Primitive | Fixed, content: Json) -> object:
    try:
        if node.conversion is not None:
            return _BY_TEXT[node.conversion.kind](content)
        is_bytes = isinstance(node, Fixed) or node.name == "bytes"
        return content.encode("latin-1") if is_bytes and isinstance(content, str) else content
    except (ValueError, TypeError, AttributeError, InvalidOperation) as exc:
        raise Malformed(f"{content!r:.40}: {exc}") from exc


def _record(node: Record, content: dict[str, Json]) -> dict[str, object]:
    types = {field.name: field.type for field in node.fields}
    found: dict[str, object] = {}
    for name, item in content.items():
        try:
            found[name] = value_from_json(types[name], item) if name in types else item
        except Malformed as exc:
            raise exc.within(name) from None
    return found


def _branch(node: Union, content: Json) -> object:
    """Convert JSON to a value of the first matching branch of a union."""
    problem = Malformed("a union without branches")
    for branch in node.branches:
        try:
            value = value_from_json(branch, content)
            writer_of(branch)(value, bytearray(), 0)
        except Malformed as exc:
            problem = exc
            continue
        named = node.named and isinstance(branch, Record)
        return (branch.name, value) if named and isinstance(branch, Record) else value
    raise problem
