"""Columnar forms of stateless operators, which avoid `Record` objects below column processors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

import pyarrow as pa

from kstreams.processors.column_form import Input, Need, NodeForm
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.computed import Computed
from kstreams.processors.each_row import EachRow, each_row, row_error
from kstreams.processors.entered import entered
from kstreams.processors.processor import BaseProcessor, KIn, KOut, VIn, VOut
from kstreams.processors.returned import TEXT_TYPES, text_returned
from kstreams.serde.objects import objects_of

__all__ = (
    "ChainSupplier",
    "Chained",
    "ChainedFilter",
    "ChainedMap",
    "ChainedMapValues",
    "ChainedMapValuesWithKey",
    "ChainedRekey",
    "ChainedRekeyByValue",
)

_PIECE = 4_096
"""The number of rows processed at once, so that their objects stay in the CPU cache."""


@dataclass(frozen=True)
class ChainSupplier(Generic[KIn, VIn, KOut, VOut]):
    """Creates the processors of a stateless operator, which runs by records or by columns.

    Args:
        by_records: Creates a processor of single records.
        by_columns: Creates a column processor.
        found: The problems of the user's function.
        computed: Creates a column processor that computes the function without calls; None for a
            function that can only be called.
        keeps_partition: Whether new keys are known to be the old ones, with or without their
            windows.
    """

    by_records: Callable[[], BaseProcessor[KIn, VIn, KOut, VOut]]
    by_columns: Callable[[], Chained]
    found: tuple[str, ...] = field(default=(), kw_only=True)
    computed: Computed | None = field(default=None, kw_only=True)
    keeps_partition: bool = field(default=False, kw_only=True)

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the user's function, found when the supplier was created."""
        return self.found

    def __call__(self) -> BaseProcessor[KIn, VIn, KOut, VOut]:
        """Return a new processor of single records."""
        return self.by_records()

    @property
    def column_form(self) -> NodeForm:
        """Return the column form of a stateless operator."""
        need = Need.COLUMNS | Need.RESULTS | Need.DECODED
        return NodeForm((need,), self._processor, follower=True, over_records=self.computed)

    def _processor(self, rows: Input) -> ColumnProcessor:
        made = self.by_columns()
        if rows.need is Need.RESULTS:  # no later node keeps the forwarded objects
            made.rows = _PIECE
        return entered(made, rows)


class Chained(EachRow):
    """Base class of columnar stateless operators, which call a function for each row.

    Args:
        function: The user's function.

    Attributes:
        rows: The maximum number of rows to process at once; None for all rows. With a limit,
            objects are released after each part of a table, so that new objects reuse their
            memory. Set a limit only if no downstream node keeps the forwarded objects.
    """

    rows: int | None = None

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def process_batch(self, table: pa.Table) -> None:
        """Apply the operator to a table, and forward the resulting rows."""
        if self.rows is None:
            self._process(table)
            return
        for first in range(0, table.num_rows, self.rows):
            self._process(table.slice(first, self.rows))
            self.held.clear()

    def _process(self, table: pa.Table) -> None:
        made = self._made(table)
        if made.num_rows:
            self.context.forward(made)

    @abstractmethod
    def _made(self, table: pa.Table) -> pa.Table:
        """Call the user's function for each row of a table, and return the rows to forward."""

    def _results(self, table: pa.Table) -> list[Any]:
        """Return the results of the function for each row's key and value."""
        keys, values = objects_of(table.column("key")), objects_of(table.column("value"))
        return each_row(self._function, table, keys, values)


class ChainedMapValues(Chained):
    """The columnar form of `map_values`."""

    def _made(self, table: pa.Table) -> pa.Table:
        values = objects_of(table.column("value"))
        return self.with_results(table, value=each_row(self._function, table, values))


class ChainedMapValuesWithKey(Chained):
    """The columnar form of `map_values` with a function of key and value."""

    def _made(self, table: pa.Table) -> pa.Table:
        return self.with_results(table, value=self._results(table))


class ChainedRekeyByValue(Chained):
    """The columnar form of `rekey` with a function of the value."""

    def _made(self, table: pa.Table) -> pa.Table:
        values = objects_of(table.column("value"))
        return self.with_results(table, key=each_row(self._function, table, values))


class ChainedRekey(Chained):
    """The columnar form of `rekey`."""

    def _made(self, table: pa.Table) -> pa.Table:
        return self.with_results(table, key=self._results(table))


class ChainedMap(Chained):
    """The columnar form of `map_`."""

    def _made(self, table: pa.Table) -> pa.Table:
        pairs = self._results(table)
        if not set(map(type, pairs)) <= {tuple}:
            self._check(table, pairs)
        return self.with_results(
            table, key=[key for key, _ in pairs], value=[value for _, value in pairs]
        )

    def _check(self, table: pa.Table, pairs: list[Any]) -> None:
        """Raise an error if a result is text instead of a pair: text unpacks into characters."""
        for row, pair in enumerate(pairs):
            if isinstance(pair, TEXT_TYPES):
                error = text_returned("map_", self._function, pair, "a pair of key and value")
                raise row_error(table, row, error)


class ChainedFilter(Chained):
    """The columnar form of `filter_` and `filter_not`.

    Args:
        function: The predicate.
        keeps: The result of the predicate for rows that are forwarded.
        of_value: Whether the predicate takes the value alone, instead of key and value.
    """

    def __init__(
        self, function: Callable[..., Any], *, keeps: bool, of_value: bool = False
    ) -> None:
        super().__init__(function)
        self._keeps = keeps
        self._of_value = of_value

    def _made(self, table: pa.Table) -> pa.Table:
        keeps = self._keeps
        return table.filter(pa.array([bool(found) is keeps for found in self._found(table)]))

    def _found(self, table: pa.Table) -> list[Any]:
        if not self._of_value:
            return self._results(table)
        return each_row(self._function, table, objects_of(table.column("value")))
