"""Parse schemas into trees.

`fastavro` validates them: missing, unknown or repeated names, and defaults of the wrong type. This
module rejects further invalid schemas, which fastavro accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from kstreams.serde import Schema
from kstreams_avro.conversions import conversion_of
from kstreams_avro.datum import Json
from kstreams_avro.nodes import (
    NO_DEFAULT,
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

__all__ = ("SchemaSource", "parse", "parse_schema")

SchemaSource = str | Path | Mapping[str, Any] | Sequence[Any]
"""The JSON text of a schema, its file, or its parsed content; a primitive type by name."""

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_IS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*").fullmatch
_WRONG = (SchemaParseException, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Exceptions for invalid schemas."""


def parse(source: SchemaSource) -> Node:
    """Parse a schema.

    Raises:
        ValueError: The schema is invalid. The message has the reason.
        OSError: The file cannot be read.
    """
    return _Parser().read(_json(source))


def parse_schema(schema: Schema) -> Node:
    """Parse a schema and the schemas that it refers to.

    Raises:
        ValueError: A schema is invalid.
    """
    parser = _Parser()
    _read_references(schema, parser)
    return parser.read(_json(schema.text))


def _read_references(schema: Schema, parser: _Parser) -> None:
    if schema.kind != "AVRO":
        raise ValueError(f"expected an Avro schema, got one of kind {schema.kind}")
    for reference in schema.references:
        _read_references(reference.schema, parser)
        if reference.name not in parser.nodes:  # else two others refer to it
            parser.read(_json(reference.schema.text))


def _json(source: SchemaSource) -> object:
    if isinstance(source, Path):
        source = source.read_text("utf-8")
    if not isinstance(source, str) or source in _PRIMITIVES:
        return source
    try:
        found: object = json.loads(source)
    except (ValueError, RecursionError) as exc:
        raise ValueError(f"the schema is not JSON: {exc}: {source[:60]!r}") from exc
    return found


class _Parser:
    """Parses schemas in sequence; later schemas may refer to types of earlier ones."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._known: dict[str, Any] = {}  # fastavro's own

    def read(self, source: object) -> Node:
        try:
            parsed = fastavro.parse_schema(source, self._known)  # type: ignore[arg-type]  # judged there
            return self._node(parsed)
        except UnknownType as exc:
            raise ValueError(f"the Avro schema is invalid: no type is called {exc.name!r}") from exc
        except _WRONG as exc:
            kind = f"{type(exc).__name__}: " if isinstance(exc, (KeyError, TypeError)) else ""
            raise ValueError(f"the Avro schema is invalid: {kind}{exc}") from exc

    def _node(self, parsed: Json) -> Node:
        if isinstance(parsed, list):
            return self._union(parsed)
        if isinstance(parsed, str):
            return self.nodes[parsed] if parsed in self.nodes else Primitive(parsed)
        kind = parsed["type"]
        match kind:
            case "array":
                return Array(self._node(parsed["items"]))
            case "map":
                return Map(self._node(parsed["values"]))
            case "record" | "error":
                return self._record(parsed)
            case "enum":
                return self._enum(parsed)
            case "fixed":
                return self._fixed(parsed)
            case _:
                return Primitive(kind, conversion_of(kind, parsed))

    def _union(self, parsed: list[Any]) -> Union:
        branches = tuple(map(self._node, parsed))
        names = [_branch_name(branch) for branch in branches]
        if not branches or len(set(names)) < len(names):
            raise ValueError(
                f"a union of {', '.join(names) or 'nothing'}; expected one or more different types"
            )
        records = [branch for branch in branches if isinstance(branch, Record)]
        return Union(branches, named=len(records) > 1)

    def _record(self, parsed: Mapping[str, Any]) -> Record:
        record = Record(_name(parsed["name"]), _aliases(parsed))
        self.nodes[record.name] = record
        record.fields = tuple(map(self._field, parsed["fields"]))
        names = [field.name for field in record.fields]
        if len(set(names)) < len(names):
            raise ValueError(f"record {record.name} has a field twice: {', '.join(names)}")
        return record

    def _field(self, parsed: Mapping[str, Any]) -> Field:
        name = _name(parsed["name"])
        aliases = tuple(parsed.get("aliases", ()))
        return Field(name, self._node(parsed["type"]), parsed.get("default", NO_DEFAULT), aliases)

    def _enum(self, parsed: Mapping[str, Any]) -> Enum:
        symbols = tuple(map(_name, parsed["symbols"]))
        default = parsed.get("default")
        if not symbols or len(set(symbols)) < len(symbols):
            raise ValueError(f"enum {parsed['name']} has no symbols, or has a symbol twice")
        if default is not None and default not in symbols:
            raise ValueError(
                f"the default {default!r} of enum {parsed['name']} is not one of its symbols"
            )
        node = Enum(_name(parsed["name"]), symbols, _aliases(parsed), default)
        self.nodes[node.name] = node
        return node

    def _fixed(self, parsed: Mapping[str, Any]) -> Fixed:
        size = parsed["size"]
        if type(size) is not int or not 1 <= size < 1 << 31:
            raise ValueError(
                f"fixed {parsed['name']} has a size of {size!r}; expected 1 to {(1 << 31) - 1}"
            )
        conversion = conversion_of("fixed", parsed)
        node = Fixed(_name(parsed["name"]), size, _aliases(parsed), conversion)
        self.nodes[node.name] = node
        return node


def _branch_name(node: Node) -> str:
    """Return the name of a branch, which must be unique in a union."""
    match node:
        case Primitive() | Fixed() | Enum() | Record():
            return node.name
        case Union():
            raise ValueError("a union must not directly contain a union")
        case _:
            return type(node).__name__.lower()


def _name(name: object) -> str:
    if not isinstance(name, str) or _IS_NAME(name) is None:
        raise ValueError(
            f"invalid name {name!r}: expected letters, digits and _, and no digit first"
        )
    return name


def _aliases(parsed: Mapping[str, Any]) -> tuple[str, ...]:
    """Return full aliases; an alias without a namespace has the namespace of its type."""
    space = parsed["name"].rpartition(".")[0]
    aliases = parsed.get("aliases", ())
    return tuple(f"{space}.{each}" if space and "." not in each else each for each in aliases)
