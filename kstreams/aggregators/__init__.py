"""Aggregators, which combine the records of a key, for `aggregate` and `windowed_aggregate`.

- `count`, `sum_`, `mean`, `variance`, `min_`, `max_`: aggregate numbers, by columns if possible.
- `first`, `last`, `collect`, `top_n`: keep values. `count_distinct`, `approx_count_distinct`: count
  distinct values (the second in little memory; it needs the extra `sketches`).
- `over(part, aggregator)`: aggregates a part of each value; `over(field("price", DOUBLE), ...)`
  decodes only that field of a JSON value.
- `combine(...)`: several aggregators at once, by position or by name. `reducing(function, serde)`,
  `fold(...)`: aggregators defined by functions.
- `Aggregator`: the protocol of a custom aggregator; `InvertibleAggregator`: the protocol of an
  aggregator that can remove records, as `regroup` requires: counts, sums, means, variances, and
  combinations of these.

The store's `value=` must be the aggregator's `state`. Names of Python builtins end in `_`.

Example:
    >>> from kstreams import DOUBLE, TEXT, aggregate, timestamped_store
    >>> from kstreams.aggregators import count, max_, combine
    >>> both = combine(count(), max_(DOUBLE))  # results are pairs: how many, and the largest
    >>> store = timestamped_store("largest", key=TEXT, value=both.state)
    >>> largest = aggregate(both, store=store)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.aggregators.aggregator import Aggregator, InvertibleAggregator
from kstreams.aggregators.collect import collect
from kstreams.aggregators.combine import combine
from kstreams.aggregators.count import count
from kstreams.aggregators.count_distinct import count_distinct
from kstreams.aggregators.edge import first, last
from kstreams.aggregators.extreme import max_, min_
from kstreams.aggregators.field import Field, field
from kstreams.aggregators.fold import fold
from kstreams.aggregators.mean import mean
from kstreams.aggregators.named_combine import AnyAggregator, AnyInvertibleAggregator
from kstreams.aggregators.named_results import NamedResults
from kstreams.aggregators.over import over
from kstreams.aggregators.reduce import reducing
from kstreams.aggregators.sum import sum_
from kstreams.aggregators.top_n import Comparable, top_n
from kstreams.aggregators.variance import variance
from kstreams.lazy import lazy_names

if TYPE_CHECKING:
    from kstreams.aggregators.hyperloglog import approx_count_distinct
else:  # a checker would take any name then
    __getattr__ = lazy_names(
        __name__,
        {
            "approx_count_distinct": "kstreams.aggregators.hyperloglog",
        },
    )

__all__ = (
    "Aggregator",
    "AnyAggregator",
    "AnyInvertibleAggregator",
    "Comparable",
    "Field",
    "InvertibleAggregator",
    "NamedResults",
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
