"""The computation of a function's results from columns of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from kstreams.columns.row_failure import called
from kstreams.columns.values import PartColumn, ValueColumn
from kstreams.errors import DeserializationError
from kstreams.expressions.evaluate import Doubt, Operands, evaluated
from kstreams.expressions.kinds import SERDES, Arguments, part_kind
from kstreams.expressions.rows import RowSerde
from kstreams.expressions.tree import Argument, Leaf, Made, Part, Tree, Whole, leaves
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.object_columns import ObjectColumns

__all__ = ("ColumnOf", "Computation", "PartComputation", "PartFunction", "field_identity")

ColumnOf: TypeAlias = Callable[[Argument], ValueColumn]
"""Returns the column of an argument."""


class PartComputation(Protocol):
    """The columnar form of a function of values."""

    @property
    def serde(self) -> Serde[Any]:
        """Return the serde of the results."""
        ...

    def column(self, values: ValueColumn) -> ValueColumn:
        """Return the results for a column of values."""
        ...


@runtime_checkable
class PartFunction(Protocol):
    """A function of values that can be computed from columns: a `columns(...)` or `field(...)`."""

    @property
    def identity(self) -> str:
        """Return a text that identifies the function; recorded with states to detect changes."""
        ...

    def computation(self, values: Serde[Any]) -> PartComputation | str:
        """Return the computation for columns of a serde's values, or why there is none."""
        ...

    def __call__(self, value: Any) -> Any:  # noqa: ANN401  # a function of any type
        """Return the result for a value."""
        ...


def field_identity(name: str) -> str:
    """Return the identity of a function that returns a field."""
    return f"field {name!r}"


class Computation:
    """Computes the results of a function for columns of its arguments.

    Args:
        call: The function.
        tree: The operations of the function.
        arguments: The types of the arguments, in the order in which `call` takes them.
        kind: The type of the results; None for objects of a class.

    Attributes:
        serde: The serde of the results.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        tree: Tree,
        arguments: Arguments,
        kind: FieldType | None,
    ) -> None:
        self._call = call
        self._tree = tree
        self._arguments = tuple(arguments)
        self._types = {leaf: SERDES[part_kind(leaf, arguments)].arrow_type for leaf in leaves(tree)}
        self.serde: Serde[Any]
        if kind is not None:
            self.serde = SERDES[kind]
        else:
            if not isinstance(tree, Made):
                raise TypeError(f"{tree} has no type")
            kinds = {name: part_kind(part, arguments) for name, part in tree.fields}
            columns = {name: SERDES[each].arrow_type for name, each in kinds.items()}
            self.serde = RowSerde(tree.cls, kinds, columns)

    def computed(self, columns: ColumnOf, count: int) -> pa.Array:
        """Return a column of the results, without a call of the function.

        Args:
            columns: Returns the column of an argument.
            count: The number of rows.

        Raises:
            Doubt: The function must be called for the rows of these columns.
        """
        operands = self._operands(columns)
        tree = self._tree
        if not isinstance(tree, Made):
            return evaluated(tree, operands, count)
        kind: Any = self.serde.arrow_type
        return kind.of(*(evaluated(part, operands, count) for _, part in tree.fields))

    def results(self, columns: ColumnOf, count: int, held: ObjectColumns) -> pa.Array:
        """Return the results as a column; call the function for each row if `computed` raises.

        Args:
            columns: Returns the column of an argument.
            count: The number of rows.
            held: Keeps results that have no Arrow type.

        Raises:
            DeserializationError: The serde cannot read a key or value.
            RowFailure: The function raised; the failure has the number of the row.
        """
        try:
            return self.computed(columns, count)
        except Doubt:
            return held.column(self._called(columns))

    def column(self, values: ValueColumn) -> ValueColumn:
        """Return the results of a function of values as values of `serde`.

        Errors as in `results`.
        """
        columns: ColumnOf = lambda _: values  # noqa: E731  # the only argument
        try:
            return ValueColumn(self.computed(columns, len(values.data)), self.serde)
        except Doubt:
            return PartColumn(values.data, values.serde, self._called(columns))

    def _called(self, columns: ColumnOf) -> list[Any]:
        return called(self._call, *(columns(each).objects() for each in self._arguments))

    def _operands(self, columns: ColumnOf) -> Operands:
        found: dict[Leaf, pa.Array] = {}
        for argument in self._arguments:
            types = {leaf: kind for leaf, kind in self._types.items() if leaf.of == argument}
            if types:
                found |= _read(columns(argument), types)
        return found


def _read(column: ValueColumn, types: dict[Leaf, pa.DataType]) -> dict[Leaf, pa.Array]:
    """Return the columns of an argument and its fields.

    Raises:
        Doubt: The objects are not of the expected types.
    """
    whole = [leaf for leaf in types if isinstance(leaf, Whole)]
    if whole:  # a number, bool or text, which has no fields
        data, kind = column.data, types[whole[0]]
        if isinstance(data.type, pa.BaseExtensionType):
            raise Doubt("values are objects")
        return {whole[0]: data if data.type == kind else data.cast(kind)}
    parts = {leaf.name: leaf for leaf in types if isinstance(leaf, Part)}
    try:
        read = column.fields({name: types[leaf] for name, leaf in parts.items()})
    except (DeserializationError, OverflowError, pa.ArrowException) as exc:
        raise Doubt("a field is not of its type, or an integer is beyond int64") from exc
    return {leaf: read[name] for name, leaf in parts.items()}
