"""Joins: joiner functions, join windows, lookups, and processors with two inputs.

The joins themselves are methods of `TopologyBuilder`: `join_table` enriches a stream with a table,
`join_tables` joins two tables, `add_join` takes your own `JoinProcessor`.

- `inner(f)`, `left(f)` and `outer(f)` are each a `JoinerSupplier`: they create a `Joiner` from a
  function of both values. The type of the function shows which value may be missing. `pair`,
  `left_value`, `right_value` and `merged` are ready-made functions.
- `within(before, after, grace=...)` is the range of times for two streams.
- `look_up` calls a `Service`, an external system, and caches its responses in a `LookupCache`.
- A table's output consists of `Change` records: the new and the old value of a row.
- `OneSided` and `TwoSided` let type checkers distinguish outer joiners from others.

Example:
    >>> from kstreams import INT64, TEXT, Topic, TopologyBuilder, timestamped_store
    >>> from kstreams.joins import left
    >>> from kstreams.testing import TopologyTestDriver
    >>> clicks, users = Topic("clicks", TEXT, INT64), Topic("users", TEXT, TEXT)
    >>> named = Topic("named", TEXT, TEXT)
    >>> builder = TopologyBuilder("names")
    >>> table = builder.add_table(
    ...     "users", users, store=timestamped_store("u", key=TEXT, value=TEXT)
    ... )
    >>> joiner = left(lambda number, name: f"{name or 'unknown'}: {number}")
    >>> joined = builder.join_table("named", builder.add_source("clicks", clicks), table, joiner)
    >>> builder.add_sink("out", named, joined)
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.pipe(users, "a", "Ann")
    ...     driver.pipe(clicks, "a", 1)
    ...     driver.pipe(clicks, "b", 2)
    ...     [record.value for record in driver.read(named)]
    ['Ann: 1', 'unknown: 2']
"""

from __future__ import annotations

from kstreams.joins.change import Change
from kstreams.joins.common_joiners import left_value, merged, pair, right_value
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.joiner import Joiner, JoinerSupplier, OneSided, TwoSided, inner, left, outer
from kstreams.joins.lookups.look_up import look_up
from kstreams.joins.lookups.service import LookupCache, Service
from kstreams.joins.within import Within, within

__all__ = (
    "Change",
    "JoinProcessor",
    "Joiner",
    "JoinerSupplier",
    "LookupCache",
    "OneSided",
    "Service",
    "TwoSided",
    "Within",
    "inner",
    "left",
    "left_value",
    "look_up",
    "merged",
    "outer",
    "pair",
    "right_value",
    "within",
)
