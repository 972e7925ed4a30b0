"""Aggregation by columns: what the built-in aggregators do, in files of the same names.

Read `ColumnForm` first. Depends on serdes alone.
"""

from __future__ import annotations

from kstreams.aggregators.columns.form import ColumnForm, column_form
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn

__all__ = ("ColumnForm", "Runs", "ValueColumn", "column_form")
