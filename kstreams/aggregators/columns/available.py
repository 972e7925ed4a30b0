"""Choice of the column form of an aggregation, or the reason why there is none."""

from __future__ import annotations

import re
from typing import Any

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.columns.form import ColumnForm, column_form, keeps_objects
from kstreams.columns.keys import has_key_codes
from kstreams.serde.base import Serde
from kstreams.serde.layout import fixed_layout

__all__ = ("form_or_reason",)


def form_or_reason(
    aggregator: Aggregator[Any, Any, Any, Any],
    *,
    key: Serde[Any],
    value: Serde[Any],
    stored: Serde[Any],
    objects: bool = False,
    object_keys: bool = False,
) -> ColumnForm | str:
    """Return the column form of an aggregation, or the reason why there is none.

    Args:
        aggregator: The aggregator whose column form is returned.
        key: Serde of the incoming keys.
        value: Serde of the incoming values.
        stored: Serde of the keys in the store.
        objects: Whether states may be objects instead of numbers.
        object_keys: Whether keys may be objects, whose bytes must be written again to compare them.
    """
    form = column_form(aggregator, value)
    if form is None:
        problem = getattr(aggregator, "columns_problem", None)
        reason: str | None = None if problem is None else problem(value)
        if reason is not None:
            return reason
        values = f" for values of {value.name}" if hasattr(aggregator, "columns") else ""
        return f"the aggregator {_name(aggregator)!r} has no column form{values}"
    if keeps_objects(form) and not objects:
        return f"the aggregator {_name(aggregator)!r} has no column form for such windows"
    if fixed_layout(aggregator.state) is None and not keeps_objects(form):
        return f"states of {aggregator.state.name} vary in width"
    if key != stored:
        return f"keys have the serde {key.name}, but are stored with {stored.name}"
    if not (object_keys or has_key_codes(key)):
        return f"keys of {key.name} cannot be compared as bytes"
    return form


def _name(aggregator: object) -> str:
    """Return the name of a custom class, or of the function that creates a built-in aggregator."""
    name: str = getattr(aggregator, "made_by", type(aggregator).__name__)
    if not name.startswith("_"):
        return name
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name[1:]).lower()
