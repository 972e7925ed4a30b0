"""Functions with a tree: called for a record, or computed from columns of their arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.columns.row_failure import RowsFunction, called
from kstreams.expressions.by_record import by_key_and_value, by_record
from kstreams.expressions.computation import Computation, field_identity
from kstreams.expressions.evaluate import Doubt
from kstreams.expressions.kinds import Arguments, Fields, Untyped, fields_of, kind_of
from kstreams.expressions.of_objects import of_objects
from kstreams.expressions.tree import Argument, Made, Part, Tree, Unary, Whole, nodes
from kstreams.serde.base import Serde

__all__ = ("ColumnFunction", "KeyedColumnFunction", "TreeFunction")

R = TypeVar("R")
"""Type of the results."""


@dataclass(frozen=True)
class TreeFunction(RowsFunction, Generic[R]):
    """Base class of the results of `columns`.

    Attributes:
        function: The user's function, with the constants that it had when `columns` was called.
        tree: The recorded operations.
        original: The user's function itself, for its annotations; None in a worker.
    """

    function: Callable[..., R] = field(repr=False, compare=False)
    tree: Tree
    original: Callable[..., R] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def call(self) -> Callable[..., R]:
        """The function of a record.

        It is the user's function, unless that function contains `~`: Python's own `~True` is -2.
        """
        if any(isinstance(each, Unary) and each.name == "not_" for each in nodes(self.tree)):
            return self._by_record
        return self.function

    @property
    @abstractmethod
    def _names(self) -> tuple[Argument, ...]:
        """The names of the arguments."""

    @property
    @abstractmethod
    def _by_record(self) -> Callable[..., R]:
        """The function of a record that evaluates the tree."""

    @abstractmethod
    def records_computation(self, keys: Serde[Any], values: Serde[Any]) -> Computation | str:
        """Return the computation for columns of records, or why there is none.

        Args:
            keys: The serde of the keys.
            values: The serde of the values.
        """

    @override
    def rows(self, *columns: Sequence[Any]) -> list[Any]:
        try:
            return of_objects(self.tree, dict(zip(self._names, columns, strict=True)))
        except Doubt:
            return called(self.call, *columns)

    def made_type(self, keys: Serde[Any] | None, values: Serde[Any] | None) -> object:
        """Return the type of the results if operations create them; None if it is not known.

        Args:
            keys: The serde of the keys; None if it is not known.
            values: The serde of the values; None if it is not known.
        """
        if isinstance(self.tree, Made):
            return self.tree.cls
        if isinstance(self.tree, Whole | Part):  # may be None
            return None
        known: dict[Argument, Fields] = {}
        if keys is not None:
            known["key"] = fields_of(keys)
        if values is not None:
            known["value"] = fields_of(values)
        try:
            return kind_of(self.tree, known)
        except (KeyError, Untyped):
            return None

    def __getstate__(self) -> dict[str, object]:
        """Return the arguments that workers need; unpickling computes `call` again."""
        return {"function": self.function, "tree": self.tree}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the attributes from the result of `__getstate__`."""
        vars(self).update(state)

    def _computation(self, arguments: Arguments) -> Computation | str:
        try:
            kind = kind_of(self.tree, arguments)
        except Untyped as exc:
            return f"{exc}"
        return Computation(self.call, self.tree, arguments, kind)


class ColumnFunction(TreeFunction[R], Generic[V, R]):
    """The result of `columns` for a function of a value."""

    def __call__(self, value: V) -> R:
        """Return the result for a value."""
        return self.call(value)

    @property
    def identity(self) -> str:
        """A text that identifies the function; recorded with states to detect changes."""
        return field_identity(self.tree.name) if isinstance(self.tree, Part) else f"{self.tree}"

    def computation(self, values: Serde[Any]) -> Computation | str:
        """Return the computation for columns of a serde's values, or why there is none."""
        return self._computation({"value": fields_of(values)})

    def records_computation(self, keys: Serde[Any], values: Serde[Any]) -> Computation | str:
        """Return the computation for columns of records, or why there is none."""
        return self.computation(values)

    @property
    def _names(self) -> tuple[Argument, ...]:
        return ("value",)

    @property
    def _by_record(self) -> Callable[..., R]:
        return by_record(self.tree)


class KeyedColumnFunction(TreeFunction[R], Generic[K, V, R]):
    """The result of `columns` for a function of a key and a value."""

    def __call__(self, key: K, value: V) -> R:
        """Return the result for a key and a value."""
        return self.call(key, value)

    def records_computation(self, keys: Serde[Any], values: Serde[Any]) -> Computation | str:
        """Return the computation for columns of records, or why there is none."""
        return self._computation({"key": fields_of(keys), "value": fields_of(values)})

    @property
    def _names(self) -> tuple[Argument, ...]:
        return "key", "value"

    @property
    def _by_record(self) -> Callable[..., R]:
        return by_key_and_value(self.tree)
