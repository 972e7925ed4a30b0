"""Derive a table from another table by columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.joins.columns.both_values import both, called_for_both, there
from kstreams.joins.columns.changes import Changes, ChangesProcessor
from kstreams.serde.objects import object_column, objects_of

__all__ = ("DerivedChanges",)


class DerivedChanges(ChangesProcessor):
    """The columnar form of `Derive` without a store.

    Args:
        function: Returns the derived value of a key and a value; None for no row.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def process_batch(self, table: pa.Table) -> None:
        """Derive changes from a table of changes, and forward them."""
        changes = Changes.of(table)
        keys = np.repeat(object_column(objects_of(changes.keys)), 2)
        values = both(object_column(changes.news), object_column(changes.olds))
        found = called_for_both(self._function, table, there(values), keys, values)
        derived = changes._replace(news=found[0], olds=found[1])
        rows = [new is not None or old is not None for new, old in zip(*found, strict=True)]
        if not all(rows):
            table, derived = table.filter(pa.array(rows)), derived.kept(rows)
        if derived.news:
            self._forward(table, derived.news, derived.olds)
