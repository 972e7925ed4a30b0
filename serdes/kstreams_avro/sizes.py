"""The minimum number of bytes of an Avro value, the nodes of a schema, and recursive records."""

from __future__ import annotations

from collections.abc import Iterator

from kstreams_avro.datum import Malformed
from kstreams_avro.nodes import Field, Fixed, Node, Primitive, Record, children

__all__ = ("fields_of", "is_recursive", "least_bytes", "parts_of")

_LEAST = {"null": 0, "float": 4, "double": 8}


def least_bytes(node: Node, around: tuple[Record, ...] = ()) -> int:
    """Return the minimum number of bytes of a value.

    Args:
        node: The type of the value.
        around: The enclosing records, from the outermost.

    Raises:
        Malformed: A record contains itself without end.
    """
    if isinstance(node, Fixed):
        return node.size
    if isinstance(node, Primitive):
        return _LEAST.get(node.name, 1)
    if not isinstance(node, Record):
        return 1
    if node in around:
        raise Malformed(
            f"record {node.name} contains itself without end: "
            "put the inner record into a union with null, an array or a map"
        )
    return sum(least_bytes(field.type, (*around, node)) for field in node.fields)


def is_recursive(record: Record) -> bool:
    """Return whether a record can contain itself."""
    return any(part is record for child in children(record) for part in parts_of(child))


def fields_of(node: Node) -> Iterator[Field]:
    """Yield all fields of all records in a schema."""
    for part in parts_of(node):
        if isinstance(part, Record):
            yield from part.fields


def parts_of(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes within it, each once."""
    todo, seen = [node], set[int]()
    while todo:
        part = todo.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            todo.extend(children(part))
