"""The common base of stream-stream joins and self-joins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from kstreams.columns.keys import has_key_codes
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.joins.within import Within
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor, Execution
from kstreams.processors.supplier import OneStoreSupplier
from kstreams.state.stores.spec import StoreSpec

__all__ = ("WithinSupplier",)


@dataclass(frozen=True)
class WithinSupplier(OneStoreSupplier, ABC):
    """Base class of suppliers for `join_streams`; declares the store.

    Args:
        joiner: Creates results; its kind determines whether unmatched records have one.
        within: The window and the grace.
        store: The `join_store` of the records of both sides.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.
    """

    joiner: Joiner[Any, Any, Any, Any]
    within: Within
    store: StoreSpec[Any]
    execution: Execution = "auto"

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join, and the window and the grace in ms."""
        return {"how": self.joiner.how, **self.within.terms}

    @property
    def grace_ms(self) -> int | None:
        """Return the sum of the window and the grace, in ms; None for an inner join.

        An inner join retains records by the times of their own side, not by stream time.
        """
        return None if self.joiner.how == "inner" else sum(self.within.spans_ms)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose inputs are encoded records of both sides."""
        needs = Need.RECORDS, Need.RECORDS
        return NodeForm(needs, self._checked, execution=self.execution)

    def _checked(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        key = left.records.key
        if not has_key_codes(key):
            return f"keys of {key.name} are compared by their objects"
        return self._by_columns(left, right)

    @abstractmethod
    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        """Return a columnar processor, or why there is none; keys are compared as bytes."""
