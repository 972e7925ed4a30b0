"""A table of another one by columns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any

import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.joins.columns.changes import ChangesProcessor
from kstreams.processors.each_row import each_row
from kstreams.serde.objects import objects_of

__all__ = ("DerivedChanges",)


class DerivedChanges(ChangesProcessor):
    """What `Derive` does without a store.

    Args:
        function: Of key and value makes a value; None is no row.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def process_batch(self, table: pa.Table) -> None:
        """Forward what becomes of changes."""
        function = self._function

        def derived(key: object, change: Change[Any]) -> Change[Any] | None:
            new = None if change.new is None else function(key, change.new)
            old = None if change.old is None else function(key, change.old)
            return None if new is None and old is None else Change(new, old, change.latest)

        columns = (objects_of(table.column(name)) for name in ("key", "value"))
        changes = each_row(derived, table, *columns)
        there = [change is not None for change in changes]
        if any(there):
            self._forward(table.filter(pa.array(there)), list(compress(changes, there)))
