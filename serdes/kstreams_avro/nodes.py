"""The tree of a schema, from which texts, steps and column types are created.

Named types are shared nodes, so the tree of a recursive schema has cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kstreams_avro.conversions import Conversion
from kstreams_avro.datum import Datum

__all__ = (
    "NO_DEFAULT",
    "PRIMITIVES",
    "Array",
    "Check",
    "Enum",
    "Field",
    "Fixed",
    "Map",
    "Node",
    "Primitive",
    "Record",
    "Shape",
    "Union",
    "children",
    "described",
    "is_null",
)

Check: TypeAlias = Callable[[Datum], Datum] | None
"""Returns a value, or raises a ValueError if the type does not allow a value that the schema
allows.
"""

NO_DEFAULT = object()
"""Marks a field without a default; None is the default null."""

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
"""The names of the primitive types."""


@dataclass(frozen=True, eq=False)
class Primitive:
    """A primitive type.

    Args:
        name: `null`, `boolean`, `int`, `long`, `float`, `double`, `bytes` or `string`.
        conversion: The logical type; None without a logical type.
        check: Rejects values against a type's constraints with a ValueError.
    """

    name: str
    conversion: Conversion | None = None
    check: Check = None


@dataclass(frozen=True, eq=False)
class Fixed:
    """The type `fixed`: a fixed number of bytes."""

    name: str
    size: int
    aliases: tuple[str, ...] = ()
    conversion: Conversion | None = None


@dataclass(frozen=True, eq=False)
class Enum:
    """The type `enum`: a symbol from a list.

    Args:
        name: The full name.
        symbols: The symbols in the order of their numbers.
        aliases: Earlier full names.
        default: The symbol for unknown symbols.
        members: The Python value of a symbol; the symbol itself if it is not listed.
        check: Rejects values by a ValueError; see `Check`.
    """

    name: str
    symbols: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    default: str | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    check: Check = None


@dataclass(frozen=True, eq=False)
class Array:
    """The type `array`: any number of items.

    Args:
        items: The type of the items.
        container: The Python container: `list`, `tuple`, `set` or `frozenset`.
        check: Rejects values by a ValueError; see `Check`.
    """

    items: Node
    container: type = list
    check: Check = None


@dataclass(frozen=True, eq=False)
class Map:
    """The type `map`: a map from text to values."""

    values: Node
    check: Check = None


@dataclass(frozen=True, eq=False)
class Union:
    """A union: each value has one of several types.

    Args:
        branches: The branches, in the order of their numbers.
        named: Whether values of records are pairs of full name and dict.
    """

    branches: tuple[Node, ...]
    named: bool = False


@dataclass(frozen=True, eq=False)
class Field:
    """A field of a record; `default` is JSON, or `NO_DEFAULT`."""

    name: str
    type: Node
    default: object = NO_DEFAULT
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shape:
    """The class of a record's values.

    Args:
        cls: The class; `dict` for a TypedDict.
        attributes: The names of the attributes, in the order of the fields.
        by_position: Whether the class is called with values in the order of the fields.
    """

    cls: type
    attributes: tuple[str, ...]
    by_position: bool


@dataclass(eq=False)
class Record:
    """The type `record`. Its fields are set after its creation, as they may refer to the record.

    Args:
        name: The full name.
        aliases: Earlier full names.
        shape: The class of its values; None for dicts.
    """

    name: str
    aliases: tuple[str, ...] = ()
    shape: Shape | None = None
    fields: tuple[Field, ...] = ()


Node: TypeAlias = Primitive | Fixed | Enum | Array | Map | Union | Record


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct child types of a node."""
    match node:
        case Array():
            return (node.items,)
        case Map():
            return (node.values,)
        case Union():
            return node.branches
        case Record():
            return tuple(each.type for each in node.fields)
        case _:
            return ()


def is_null(node: Node) -> bool:
    """Return whether a node is the type null."""
    return isinstance(node, Primitive) and node.name == "null"


def described(node: Node) -> str:
    """Return the description of a node for error texts."""
    match node:
        case Primitive() | Fixed():
            kind = "fixed " if isinstance(node, Fixed) else ""
            text = f"{kind}{node.name}"
            return text if node.conversion is None else f"{text} ({node.conversion.name})"
        case Enum():
            return f"enum {node.name}"
        case Array():
            return f"array of {described(node.items)}"
        case Map():
            return f"map of {described(node.values)}"
        case Union():
            return f"union of {', '.join(map(described, node.branches))}"
        case Record():
            return f"record {node.name}"
