"""Whether a windowed aggregation can run by columns."""

from __future__ import annotations

from kstreams.aggregators.columns.available import form_or_reason
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.processors.column_form import Input, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.emission import AtMostEvery, Every, OnClose
from kstreams.windows.columns.assignment import assigner
from kstreams.windows.columns.session import SessionWindowColumns
from kstreams.windows.columns.sliding import SlidingWindowColumns
from kstreams.windows.columns.time import TimeColumns
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.plan import AggregationPlan

__all__ = ("column_processor",)


def column_processor(plan: AggregationPlan, rows: Input) -> ColumnProcessor | Reason:
    """Return a new processor of a windowed aggregation by columns, or why there is none."""
    source = rows.records
    assigns = assigner(plan.windows)
    form = form_or_reason(
        plan.aggregator,
        key=source.key,
        value=source.value,
        stored=plan.store.key,
        objects=assigns is not None and not isinstance(plan.emit, Every),
    )
    if isinstance(form, str):
        return form
    if isinstance(plan.emit, AtMostEvery):
        return "at_most_every() looks at each record by itself"
    if isinstance(plan.emit, Every) and isinstance(plan.windows, (SessionWindows, SlidingWindows)):
        return f"every() of {type(plan.windows).__name__} has no column form"
    if rows.punctuated and isinstance(plan.emit, (OnClose, Every)):
        return "a stream-time punctuator below it could run before its results, or after them"
    if isinstance(plan.windows, SessionWindows):
        return SessionWindowColumns(plan, source, form)
    if isinstance(plan.windows, SlidingWindows):
        return SlidingWindowColumns(plan, source, form)
    if assigns is None:
        return f"windows of the kind {type(plan.windows).__name__} have no column form"
    return TimeColumns(plan, source, StampedForm(form), assigns)
