"""The computation of a function's results from columns of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from kstreams.columns.values import ValueColumn
from kstreams.errors import DeserializationError
from kstreams.expressions.evaluate import WHOLE, Doubt, Operands, evaluated
from kstreams.expressions.kinds import SERDES, Fields, part_kind
from kstreams.expressions.rows import RowSerde
from kstreams.expressions.tree import Made, Tree, part_names
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.object_columns import ObjectColumns

__all__ = ("Computation", "PartComputation", "PartFunction", "field_identity")


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
    """Computes the results of a function for columns of values of one serde.

    Args:
        call: The function of one value.
        tree: The operations of the function.
        fields: The types of the values.
        kind: The type of the results; None for objects of a class.

    Attributes:
        serde: The serde of the results.
    """

    def __init__(
        self, call: Callable[[Any], Any], tree: Tree, fields: Fields, kind: FieldType | None
    ) -> None:
        self._call = call
        self._tree = tree
        self._reads = {name: SERDES[fields.parts[name]].arrow_type for name in part_names(tree)}
        self._whole = None if fields.whole is None else SERDES[fields.whole].arrow_type
        self.serde: Serde[Any]
        if kind is not None:
            self.serde = SERDES[kind]
        else:
            if not isinstance(tree, Made):
                raise TypeError(f"{tree} has no type")
            kinds = {name: part_kind(part, fields) for name, part in tree.fields}
            columns = {name: SERDES[each].arrow_type for name, each in kinds.items()}
            self.serde = RowSerde(tree.cls, kinds, columns)

    def computed(self, values: ValueColumn) -> pa.Array:
        """Return a column of the results, without a call of the function.

        Raises:
            Doubt: The function must be called for the values of this column.
        """
        operands, count = self._operands(values), len(values.data)
        tree = self._tree
        if not isinstance(tree, Made):
            return evaluated(tree, operands, count)
        kind: Any = self.serde.arrow_type
        return kind.of(*(evaluated(part, operands, count) for _, part in tree.fields))

    def results(self, values: ValueColumn, held: ObjectColumns) -> pa.Array:
        """Return the results as a column; call the function for each value if `computed` raises.

        Args:
            values: The values.
            held: Keeps results that have no Arrow type.

        Raises:
            DeserializationError: The serde cannot read a value.
            RowFailure: The function raised; the failure has the number of the row.
        """
        try:
            return self.computed(values)
        except Doubt:
            return held.column(values.parts(self._call).objects())

    def column(self, values: ValueColumn) -> ValueColumn:
        """Return the results as values of `serde`; errors as in `results`."""
        try:
            return ValueColumn(self.computed(values), self.serde)
        except Doubt:
            return values.parts(self._call)

    def _operands(self, values: ValueColumn) -> Operands:
        if self._whole is not None:
            data = values.data
            if isinstance(data.type, pa.BaseExtensionType):
                raise Doubt("values are objects")
            return {WHOLE: data if data.type == self._whole else data.cast(self._whole)}
        try:
            return values.fields(self._reads)
        except (DeserializationError, OverflowError, pa.ArrowException) as exc:
            raise Doubt("a field is not of its type, or an integer is beyond int64") from exc
