"""Functions with a tree: called for a value, or computed from columns of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from kstreams._types import V
from kstreams.expressions.by_record import by_record
from kstreams.expressions.computation import Computation, field_identity
from kstreams.expressions.kinds import Untyped, fields_of, kind_of
from kstreams.expressions.tree import Part, Tree, Unary, nodes
from kstreams.serde.base import Serde

__all__ = ("ColumnFunction",)

R = TypeVar("R")
"""Type of the results."""


@dataclass(frozen=True)
class ColumnFunction(Generic[V, R]):
    """The result of `columns`.

    Attributes:
        function: The user's function, with the constants that it had when `columns` was called.
        tree: The recorded operations.
    """

    function: Callable[[V], R] = field(repr=False)
    tree: Tree

    @cached_property
    def call(self) -> Callable[[V], R]:
        """The function of a value.

        It is the user's function, unless that function contains `~`: Python's own `~True` is -2.
        """
        if any(isinstance(each, Unary) and each.name == "not_" for each in nodes(self.tree)):
            return by_record(self.tree)
        return self.function

    def __call__(self, value: V) -> R:
        """Return the result for a value."""
        return self.call(value)

    def __getstate__(self) -> dict[str, object]:
        """Return the constructor arguments; unpickling computes `call` again."""
        return {"function": self.function, "tree": self.tree}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the attributes from the result of `__getstate__`."""
        self.__dict__.update(state)

    @property
    def identity(self) -> str:
        """A text that identifies the function; recorded with states to detect changes."""
        return field_identity(self.tree.name) if isinstance(self.tree, Part) else f"{self.tree}"

    def computation(self, values: Serde[Any]) -> Computation | str:
        """Return the computation for columns of a serde's values, or why there is none."""
        fields = fields_of(values)
        try:
            kind = kind_of(self.tree, fields)
        except Untyped as exc:
            return f"{exc}"
        return Computation(self.call, self.tree, fields, kind)
