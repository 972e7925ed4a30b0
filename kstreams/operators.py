"""Operators: ready-made processors for `TopologyBuilder.add_processor`. Use the first that fits.

- `map_values`, `flat_map_values`: new values; the key stays.
- `filter_`, `filter_not`: drop records. `peek`: call a function with each record.
- `map_`, `flat_map`: new keys and values. `rekey`: new keys.
- `transform_values`, `transform`: functions of the whole record, with its time and headers.
- `aggregate`, `reduce`: one result for each key, by an `AggregateSupplier`; by key and window:
  `kstreams.windows`.
- `deduplicate`: each record once. Its id is the key (`by_key()`), a header (`by_header(name)`) or
  the result of a function.
- `limit`: only the first records.
- `limit_rate`: at most one record of a key in each interval; the last record is always forwarded.
- `columns`: a function for the first five and for `over` that is computed by columns; `is_null`.
- `call_external`: the answer of another system, with retries; `call_async`: many calls at once.

`map_`, `flat_map`, `rekey` and `transform` may change the key: put `TopologyBuilder.repartition`
between them and the next node with a store. For anything else, derive a class from
`kstreams.processors`. Names that are builtins of Python end in `_`.

Example:
    >>> from kstreams import INT64, TEXT, Topic, TopologyBuilder
    >>> from kstreams.operators import filter_not, map_values
    >>> from kstreams.testing import TopologyTestDriver
    >>> lines, lengths = Topic("lines", TEXT, TEXT), Topic("lengths", TEXT, INT64)
    >>> builder = TopologyBuilder("lengths")
    >>> node = builder.add_source("lines", lines)
    >>> node = builder.add_processor("some", filter_not(lambda _, line: line == ""), node)
    >>> builder.add_sink("out", lengths, builder.add_processor("length", map_values(len), node))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.pipe(lines, "a", "to be")
    ...     driver.pipe(lines, "b", "")
    ...     driver.read_values(lengths)
    {'a': 5}
"""

from __future__ import annotations

from kstreams.expressions.trace import columns, is_null
from kstreams.processors.aggregate import AggregateSupplier, aggregate, reduce
from kstreams.processors.call_async import call_async
from kstreams.processors.call_external import call_external
from kstreams.processors.deduplicate import (
    HeaderId,
    HeaderSupplier,
    KeyId,
    KeySupplier,
    by_header,
    by_key,
    deduplicate,
)
from kstreams.processors.filter import filter_, filter_not
from kstreams.processors.flat_map import flat_map
from kstreams.processors.flat_map_values import flat_map_values
from kstreams.processors.limit import LimitSupplier, limit
from kstreams.processors.limit_rate import limit_rate
from kstreams.processors.map import map_
from kstreams.processors.map_values import map_values
from kstreams.processors.peek import peek
from kstreams.processors.rekey import rekey
from kstreams.processors.transform import transform, transform_values

__all__ = (
    "AggregateSupplier",
    "HeaderId",
    "HeaderSupplier",
    "KeyId",
    "KeySupplier",
    "LimitSupplier",
    "aggregate",
    "by_header",
    "by_key",
    "call_async",
    "call_external",
    "columns",
    "deduplicate",
    "filter_",
    "filter_not",
    "flat_map",
    "flat_map_values",
    "is_null",
    "limit",
    "limit_rate",
    "map_",
    "map_values",
    "peek",
    "reduce",
    "rekey",
    "transform",
    "transform_values",
)
