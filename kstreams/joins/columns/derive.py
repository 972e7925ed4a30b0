"""Derive a table from another table by columns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.joins.columns.both_values import both, called_for_both, there
from kstreams.joins.columns.changes import Changes, ChangesProcessor, StoredChanges
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("DerivedChanges", "StoredDerivation")


class DerivedChanges(ChangesProcessor):
    """The columnar form of `Derive` without a store.

    Args:
        function: Returns the derived value of a key and a value; None for no row.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def process_batch(self, table: pa.Table) -> None:
        """Derive changes from a table of changes, and forward them."""
        table, news, olds = _derived(self._function, table)
        if news:
            self._forward(table, news, olds)


class StoredDerivation(StoredChanges):
    """The columnar form of `Derive` with a store; no other node reads the store.

    Args:
        function: Returns the derived value of a key and a value; None for no row.
        store: The store of the derived rows.
    """

    def __init__(self, function: Callable[[Any, Any], Any], store: StoreSpec[Any]) -> None:
        super().__init__(store)
        self._function = function

    def process_batch(self, table: pa.Table) -> None:
        """Derive rows from a table of changes, put them, and forward the changes."""
        table, news, _ = _derived(self._function, table)
        if news:
            self._put(table, news)


def _derived(
    function: Callable[[Any, Any], Any], table: pa.Table
) -> tuple[pa.Table, list[Any], list[Any]]:
    """Return the changes that have a derived row, and the new and the old rows."""
    changes = Changes.of(table)
    keys = np.repeat(object_column(objects_of(changes.keys)), 2)
    values = both(object_column(changes.news), object_column(changes.olds))
    news, olds = called_for_both(function, table, there(values), keys, values)
    rows = [new is not None or old is not None for new, old in zip(news, olds, strict=True)]
    if all(rows):
        return table, news, olds
    return table.filter(pa.array(rows)), list(compress(news, rows)), list(compress(olds, rows))
