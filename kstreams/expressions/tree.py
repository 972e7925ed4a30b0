"""The tree of operations that a function applies to a value, or to a key and a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = (
    "BINARY",
    "UNARY",
    "Argument",
    "Binary",
    "Constant",
    "Leaf",
    "Made",
    "Part",
    "Tree",
    "Unary",
    "Whole",
    "leaves",
    "nodes",
)

Argument = Literal["key", "value"]
"""An argument of a function."""

BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "lt": "<",
    "le": "<=",
    "eq": "==",
    "ne": "!=",
    "ge": ">=",
    "gt": ">",
    "and_": "&",
    "or_": "|",
    "xor": "^",
}
"""The operations of two operands: their names in the module `operator`, and their signs."""

UNARY = {"neg": "-{}", "abs": "abs({})", "not_": "~{}", "is_null": "is_null({})"}
"""The operations of one operand, and the format of their text."""


@dataclass(frozen=True)
class Whole:
    """An argument itself."""

    of: Argument = "value"

    def __str__(self) -> str:
        """Return the name of the argument."""
        return self.of


@dataclass(frozen=True)
class Part:
    """A field of an argument."""

    name: str
    of: Argument = "value"

    def __str__(self) -> str:
        """Return the name of a field of the value, or `key.` and the name of a field of the key."""
        return self.name if self.of == "value" else f"{self.of}.{self.name}"


@dataclass(frozen=True)
class Constant:
    """A constant: a number, a bool or text."""

    value: float | bool | str

    def __str__(self) -> str:
        """Return the constant as Python writes it."""
        return repr(self.value)


@dataclass(frozen=True)
class Unary:
    """An operation of one operand; `name` is a key of `UNARY`."""

    name: str
    operand: Tree

    def __str__(self) -> str:
        """Return the operation as Python writes it."""
        return UNARY[self.name].format(self.operand)


@dataclass(frozen=True)
class Binary:
    """An operation of two operands; `name` is a key of `BINARY`."""

    name: str
    left: Tree
    right: Tree

    def __str__(self) -> str:
        """Return the operation in parentheses, as Python writes it."""
        return f"({self.left} {BINARY[self.name]} {self.right})"


@dataclass(frozen=True)
class Made:
    """An object of a class, created from a tree for each of its fields.

    Attributes:
        cls: The class.
        fields: The names of the fields, and their trees.
    """

    cls: type
    fields: tuple[tuple[str, Tree], ...]

    def __str__(self) -> str:
        """Return the call of the class."""
        return f"{self.cls.__name__}({', '.join(f'{name}={tree}' for name, tree in self.fields)})"


Leaf: TypeAlias = Whole | Part
"""An argument, or a field of an argument."""

Tree: TypeAlias = Leaf | Constant | Unary | Binary | Made
"""A tree of operations."""


def nodes(tree: Tree) -> Iterator[Tree]:
    """Yield the tree and all trees within it."""
    yield tree
    match tree:
        case Unary(operand=operand):
            yield from nodes(operand)
        case Binary(left=left, right=right):
            yield from nodes(left)
            yield from nodes(right)
        case Made(fields=fields):
            for _, part in fields:
                yield from nodes(part)
        case _:
            pass


def leaves(tree: Tree) -> tuple[Leaf, ...]:
    """Return the arguments and fields that a tree reads, each once, in order of appearance."""
    return tuple(dict.fromkeys(each for each in nodes(tree) if isinstance(each, Leaf)))
