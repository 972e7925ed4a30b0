"""The results of a function for lists of objects, computed from columns of the fields it reads."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from kstreams.expressions.evaluate import Doubt, evaluated
from kstreams.expressions.kinds import SERDES, Fields, Untyped, part_kind
from kstreams.expressions.rows import objects_with
from kstreams.expressions.tree import Argument, Constant, Leaf, Made, Part, Tree, Whole, leaves
from kstreams.serde.base import FieldType
from kstreams.serde.objects import objects_of

__all__ = ("of_objects",)

_Lists = dict[Leaf, list[Any]]
"""The values of each argument or field that a tree reads."""


def of_objects(tree: Tree, arguments: dict[Argument, Sequence[Any]]) -> list[Any]:
    """Return the results of a tree for each row.

    The types of the fields are those of the objects: a field has one type in all rows.

    Args:
        tree: The tree.
        arguments: The values of each argument.

    Raises:
        Doubt: The function must be called for each row: an object lacks a field, a field has
            several types, or a result might differ from that of Python's operators.
    """
    count = len(next(iter(arguments.values())))
    found = {leaf: _values(leaf, arguments[leaf.of]) for leaf in leaves(tree)}
    if isinstance(tree, Made):
        fields = {name: _results(part, found, count) for name, part in tree.fields}
        return objects_with(tree.cls, fields, count)
    return _results(tree, found, count)


def _values(leaf: Leaf, objects: Sequence[Any]) -> list[Any]:
    if isinstance(leaf, Whole):
        return list(objects)
    try:
        return list(map(attrgetter(leaf.name), objects))
    except Exception as exc:
        raise Doubt(f"an object has no field {leaf.name!r}") from exc


def _results(tree: Tree, found: _Lists, count: int) -> list[Any]:
    if isinstance(tree, Leaf):
        return found[tree]
    if isinstance(tree, Constant):
        return [tree.value] * count
    own = leaves(tree)
    kinds = {leaf: _kind(found[leaf]) for leaf in own}
    try:
        part_kind(tree, _arguments(kinds))
        operands = {leaf: pa.array(found[leaf], SERDES[kinds[leaf]].arrow_type) for leaf in own}
    except (Untyped, OverflowError, UnicodeEncodeError, pa.ArrowException) as exc:
        raise Doubt(str(exc)) from exc
    return objects_of(evaluated(tree, operands, count))


def _kind(values: list[Any]) -> FieldType:
    """Return the type of all values that are not None; `bool` if all values are None.

    Raises:
        Doubt: The values have several types, or a type without columns.
    """
    kinds = set(map(type, values)) - {type(None)}
    kind = kinds.pop() if kinds else bool
    if kinds or kind not in SERDES:
        raise Doubt("a field has several types, or a type without columns")
    return kind


def _arguments(kinds: dict[Leaf, FieldType]) -> dict[Argument, Fields]:
    found: dict[Argument, Fields] = {}
    arguments: set[Argument] = {leaf.of for leaf in kinds}
    for argument in arguments:
        parts = {
            leaf.name: kind
            for leaf, kind in kinds.items()
            if isinstance(leaf, Part) and leaf.of == argument
        }
        found[argument] = Fields(argument, kinds.get(Whole(argument)), parts)
    return found
