"""The columnar forms of the processors of `TopologyBuilder.branch` and `merge`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.each_row import EachRow, each_row
from kstreams.serde.objects import objects_of

__all__ = ("BranchColumns", "ForwardColumns")


class ForwardColumns(ColumnProcessor):
    """The columnar form of `PassThrough`."""

    @property
    def reads_values(self) -> bool:
        """Return True: nodes downstream may read values."""
        return True

    def process_batch(self, table: pa.Table) -> None:
        """Forward the table."""
        self.context.forward(table)


class BranchColumns(EachRow):
    """The columnar form of `Branch`: forwards a table of rows to each child.

    For each row, the predicates are called in order up to the first one that is true.

    Args:
        children: The name of each predicate's child.
        tests: The predicates.
        default: The child of rows for which no predicate is true; None drops them.
    """

    def __init__(
        self,
        children: Sequence[str],
        tests: Sequence[Callable[[Any, Any], bool]],
        default: str | None,
    ) -> None:
        self._children = children
        self._tests = tests
        self._default = default

    def process_batch(self, table: pa.Table) -> None:
        """Forward the rows to the children, each child's rows in the order of the table."""
        keys, values = objects_of(table.column("key")), objects_of(table.column("value"))
        chosen = np.array(each_row(self._chosen, table, keys, values), np.int64)
        for number, child in enumerate(self._children):
            self._forward_to(child, table, chosen == number)
        others = chosen == len(self._tests)
        if self._default is not None:
            self._forward_to(self._default, table, others)
        elif others.any():
            self.context.drop("no-branch", int(others.sum()))

    def _chosen(self, key: object, value: object) -> int:
        """Return the number of the first predicate that is true; their number if there is none."""
        for number, test in enumerate(self._tests):
            if test(key, value):
                return number
        return len(self._tests)

    def _forward_to(self, child: str, table: pa.Table, mask: np.ndarray[Any, Any]) -> None:
        if mask.any():
            self.context.forward_to(child, table if mask.all() else table.filter(pa.array(mask)))
