"""Column forms of the built-in aggregators: each aggregates whole columns instead of records.

Read `ColumnForm` first. Depends only on serdes.
"""

from __future__ import annotations

from kstreams.aggregators.columns.form import ColumnForm, column_form
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn

__all__ = ("ColumnForm", "Runs", "ValueColumn", "column_form")
