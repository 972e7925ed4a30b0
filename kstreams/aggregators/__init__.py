"""Aggregators: what `windowed_aggregate` and `aggregate` make of records.

Read `Aggregator` first. Depends on records and serdes; not on windows, stores or the
graph. Names that Python has taken end in `_`. What needs an extra is loaded when it is
first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kstreams.aggregators.aggregator import Aggregator
from kstreams.aggregators.collect import collect
from kstreams.aggregators.combine import combine
from kstreams.aggregators.count import count
from kstreams.aggregators.count_distinct import count_distinct
from kstreams.aggregators.field import field
from kstreams.aggregators.first import first
from kstreams.aggregators.fold import fold
from kstreams.aggregators.last import last
from kstreams.aggregators.max import max_
from kstreams.aggregators.mean import mean
from kstreams.aggregators.min import min_
from kstreams.aggregators.over import over
from kstreams.aggregators.reduce import reducing
from kstreams.aggregators.sum import sum_
from kstreams.aggregators.top_n import top_n
from kstreams.aggregators.variance import variance

if TYPE_CHECKING:
    from kstreams.aggregators.hyperloglog import approx_count_distinct

__all__ = (
    "Aggregator",
    "approx_count_distinct",
    "collect",
    "combine",
    "count",
    "count_distinct",
    "field",
    "first",
    "fold",
    "last",
    "max_",
    "mean",
    "min_",
    "over",
    "reducing",
    "sum_",
    "top_n",
    "variance",
)


def __getattr__(name: str) -> object:
    """Load what needs datasketches when it is first named."""
    if name != "approx_count_distinct":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = import_module("kstreams.aggregators.hyperloglog").approx_count_distinct
    globals()[name] = found
    return found
