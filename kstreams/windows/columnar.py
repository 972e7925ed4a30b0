"""Whether a windowed aggregation runs on whole columns."""

from __future__ import annotations

from kstreams.aggregators.columns.form import column_form
from kstreams.aggregators.columns.keys import has_key_codes
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.processors.columnar import ColumnarProcessor, ColumnSource
from kstreams.processors.emission import AtMostEvery, Every, OnClose
from kstreams.serde.layout import fixed_layout
from kstreams.windows.columns.assignment import assigner
from kstreams.windows.columns.session import SessionWindowColumns
from kstreams.windows.columns.sliding import SlidingWindowColumns
from kstreams.windows.columns.time import TimeColumns
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.plan import AggregationPlan

__all__ = ("columnar",)


def columnar(plan: AggregationPlan, source: ColumnSource) -> ColumnarProcessor | str:
    """Return a new columnar processor of a windowed aggregation, or why there is none."""
    form = column_form(plan.aggregator, source.value)
    if form is None or fixed_layout(plan.aggregator.state) is None:
        return "the aggregator has no columnar form for such values"
    if source.key != plan.store.key or not has_key_codes(source.key):
        return f"keys of {source.key.name} are not told apart by their bytes"
    if isinstance(plan.emit, AtMostEvery):
        return "at_most_every() looks at each record by itself"
    if source.punctuated and isinstance(plan.emit, (OnClose, Every)):
        return "a punctuator below it could come before its results, or behind them"
    if isinstance(plan.emit, Every) and isinstance(plan.windows, (SessionWindows, SlidingWindows)):
        return f"every() of {type(plan.windows).__name__} has no columnar form"
    if isinstance(plan.windows, SessionWindows):
        return SessionWindowColumns(plan, source, form)
    if isinstance(plan.windows, SlidingWindows):
        return SlidingWindowColumns(plan, source, form)
    assigns = assigner(plan.windows)
    if assigns is None:
        return f"{type(plan.windows).__name__} have no columnar form"
    return TimeColumns(plan, source, StampedForm(form), assigns)
