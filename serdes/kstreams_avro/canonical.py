"""The canonical text of a schema: equal trees have equal texts.

Unlike Avro's parsing canonical form, the text keeps the properties that schema evolution needs:
defaults, aliases and logical types. Names are full; documentation, sort order and unknown
properties are omitted.
"""

from __future__ import annotations

import json
from typing import Any

from kstreams_avro.datum import Json
from kstreams_avro.nodes import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Node,
    Primitive,
    Record,
    Union,
)

__all__ = ("canonical_text", "layout_text")

_OF_READERS = ("aliases", "default", "logicalType", "precision", "scale")


def canonical_text(node: Node) -> str:
    """Return a schema as JSON, keys sorted, without spaces."""
    text = _json(node, set(), "")
    return json.dumps(text, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def layout_text(node: Node) -> str:
    """Return a text of a schema's data layout: equal for schemas that write the same bytes."""
    return json.dumps(_layout(_json(node, set(), "")), sort_keys=True)


def _layout(schema: Json) -> Json:
    """Return a schema without the properties that only readers use."""
    if isinstance(schema, list):
        return [_layout(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema["type"] in PRIMITIVES:
        return schema["type"]
    kept = {key: part for key, part in schema.items() if key not in _OF_READERS}
    kept |= {key: _layout(kept[key]) for key in ("type", "items", "values") if key in kept}
    if "fields" in kept:
        kept["fields"] = [_layout_of_field(field) for field in kept["fields"]]
    return kept


def _layout_of_field(field: Json) -> Json:
    return {"name": field["name"], "type": _layout(field["type"])}


def _json(node: Node, named: set[str], space: str) -> Json:
    """Return the JSON form of a type.

    Args:
        node: The type.
        named: The named types that are defined already.
        space: The enclosing namespace.
    """
    match node:
        case Array():
            return {"type": "array", "items": _json(node.items, named, space)}
        case Map():
            return {"type": "map", "values": _json(node.values, named, space)}
        case Union():
            return [_json(branch, named, space) for branch in node.branches]
        case Primitive():
            return _with_logical_type(node, {"type": node.name}) if node.conversion else node.name
        case Fixed() | Enum() | Record():
            if node.name in named:
                return node.name
            named.add(node.name)
            return _named(node, named, space)


def _named(node: Fixed | Enum | Record, named: set[str], space: str) -> dict[str, Any]:
    text: dict[str, Any] = {"name": node.name, "type": type(node).__name__.lower()}
    own = node.name.rpartition(".")[0]
    if space and not own:
        text["namespace"] = ""
    if node.aliases:
        text["aliases"] = list(node.aliases)
    match node:
        case Record():
            text["fields"] = [_field(field, named, own) for field in node.fields]
        case Enum():
            text["symbols"] = list(node.symbols)
            if node.default is not None:
                text["default"] = node.default
        case Fixed():
            text["size"] = node.size
            text = _with_logical_type(node, text)
    return text


def _with_logical_type(node: Primitive | Fixed, text: dict[str, Any]) -> dict[str, Any]:
    if node.conversion is None:
        return text
    return {**text, "logicalType": node.conversion.name, **node.conversion.properties}


def _field(field: Field, named: set[str], space: str) -> dict[str, Any]:
    text: dict[str, Any] = {"name": field.name, "type": _json(field.type, named, space)}
    if field.default is not NO_DEFAULT:
        text["default"] = field.default
    if field.aliases:
        text["aliases"] = list(field.aliases)
    return text
