"""The measured joins, with their initial state and their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from benchmarks.joins.pipeline import Batch, Feeds, Numbers
from benchmarks.suite.workload import Execution
from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, filter_, map_values
from kstreams.durations import seconds
from kstreams.joins import JoinerSupplier, inner, left, outer, within
from kstreams.stores import join_store, timestamped_store

__all__ = ("CASES", "Case", "Sizes")

_IN, _OTHER = Topic("in", TEXT, INT64), Topic("other", TEXT, INT64)
_OUT = Topic("out", TEXT, INT64)
_UPDATES = Topic("out", TEXT, INT64, nulls="pass")
_STEP_MS = 1
_LOADS = 8
"""Number of initial commits, after which the log merges deltas; the merge must not be measured."""
_STREAM_TABLE: tuple[tuple[str, Execution, str, int], ...] = (
    ("stream-table", "auto", "by columns", 1_500_000),
    ("stream-table-records", "records", "one call a record", 200_000),
)
_NEAR = within(seconds(0), seconds(10), grace=seconds(2))


@dataclass(frozen=True)
class Sizes:
    """Numbers of keys, records per batch, batches and rounds."""

    keys: int = 100_000
    batch: int = 50_000
    batches: int = 8
    rounds: int = 3


@dataclass(frozen=True)
class Case:
    """One join.

    Args:
        title: The label of the count in the report.
        make: Makes the topology.
        load: Makes the batches of initial state, which are not measured.
        batches: Makes the measured batches.
        at_least: The target rate per processor second.
        counts: The unit of the rate: input records, results, records that enter loops, or batches.
    """

    title: str
    make: Callable[[], Topology]
    load: Callable[[Feeds, Sizes], Iterator[Batch]]
    batches: Callable[[Feeds, Sizes], Iterator[Batch]]
    at_least: int
    counts: Literal["records", "results", "hops", "batches"] = "records"


def stream_table(execution: Execution) -> Topology:
    """Build a left join of a stream with a table."""
    builder = TopologyBuilder("stream-table")
    table = builder.add_table("other", _OTHER, store=_store("other"))
    source = builder.add_source("in", _IN)
    joined = builder.join_table("joined", source, table, left(_either), execution=execution)
    builder.add_sink("out", _OUT, joined)
    return builder.build()


def table_table() -> Topology:
    """Build an inner join of two tables."""
    builder = TopologyBuilder("table-table")
    one = builder.add_table("in", _IN, store=_store("in"))
    other = builder.add_table("other", _OTHER, store=_store("other"))
    joined = builder.join_tables("joined", one, other, inner(lambda left, right: left + right))
    builder.add_sink("out", _UPDATES, builder.to_stream("updates", joined))
    return builder.build()


def global_table() -> Topology:
    """Build a left join of a stream with a global table, by a key in the stream's values."""
    builder = TopologyBuilder("global")
    table = builder.add_global_table("other", _OTHER, store=_store("other"))
    joined = builder.join_global(
        "joined", builder.add_source("in", _IN), table, left(_either), by=_named
    )
    builder.add_sink("out", _OUT, joined)
    return builder.build()


def _named(_: str, value: int) -> str:
    return f"key-{value:06d}"


def foreign(names: int) -> Topology:
    """Build an inner join by foreign key; left rows refer to one of `names` right rows."""

    def named(_: str, value: int) -> str:
        return f"key-{value % names:06d}"

    builder = TopologyBuilder("foreign")
    one = builder.add_table("in", _IN, store=_store("in"))
    other = builder.add_table("other", _OTHER, store=_store("other"))
    joined = builder.join_foreign(
        "joined", one, other, inner(_either), by=named, store=_store("joined")
    )
    builder.add_sink("out", _UPDATES, builder.to_stream("updates", joined))
    return builder.build()


def loop() -> Topology:
    """Build a loop in which each record's value is its number of iterations."""
    builder = TopologyBuilder("loop")
    round_again = builder.add_loop("round", key=TEXT, value=INT64)
    source = builder.add_source("in", _IN)
    once_less = builder.add_processor("once-less", map_values(_less), source, round_again)
    again = builder.add_processor("again", filter_(lambda _, left: left > 0), once_less)
    builder.close_loop(round_again, again)
    done = builder.add_processor("done", filter_(lambda _, left: left == 0), once_less)
    builder.add_sink("out", _OUT, done)
    return builder.build()


def interval(joiner: JoinerSupplier[int, int, int, Any], execution: Execution) -> Topology:
    """Build a join of two streams within 10 s."""
    builder = TopologyBuilder("interval")
    one, other = builder.add_source("in", _IN), builder.add_source("other", _OTHER)
    store = join_store("pairs", key=TEXT, left=INT64, right=INT64)
    pairs = builder.join_streams(
        "pairs", one, other, joiner, within=_NEAR, store=store, execution=execution
    )
    builder.add_sink("out", _OUT, pairs)
    return builder.build()


def _either(one: int | None, other: int | None) -> int:
    return (one or 0) + (other or 0)


_INTERVAL: tuple[tuple[str, JoinerSupplier[int, int, int, Any], str, int], ...] = (
    ("interval-inner", inner(_either), "every tenth matched", 600_000),
    ("interval-outer", outer(_either), "what has no partner goes out too", 400_000),
)


def _ways(by_columns: int) -> tuple[tuple[str, Execution, str, int], ...]:
    return (
        ("", "auto", "by columns", by_columns),
        ("-records", "records", "one call a record", 100_000),
    )


def _less(rounds: int) -> int:
    return rounds - 1


def _store(name: str) -> Any:
    return timestamped_store(name, key=TEXT, value=INT64)


def other_rows(source: str, names: int | None = None) -> Callable[[Feeds, Sizes], Iterator[Batch]]:
    """Return a function that makes batches with one row for each key, or for `names` keys."""

    def load(feeds: Feeds, sizes: Sizes) -> Iterator[Batch]:
        count = min(names or sizes.keys, sizes.keys)
        for keys in np.array_split(np.arange(count), max(_LOADS, count // sizes.batch)):
            yield [feeds.numbered(source, keys, _numbers(keys), np.zeros(len(keys), np.int64))]

    return load


def with_updates(
    source: str, table: str, share: float, keys_used: float = 1
) -> Callable[[Feeds, Sizes], Iterator[Batch]]:
    """Return a function that makes batches of stream records and table updates.

    Args:
        source: The source of the stream records.
        table: The source of the table updates.
        share: The share of table updates among the records.
        keys_used: The share of the keys that occur.
    """

    def batches(feeds: Feeds, sizes: Sizes) -> Iterator[Batch]:
        random = np.random.default_rng(1)
        updates = int(sizes.batch * share)
        for number in range(sizes.batches):
            times = 1 + number * sizes.batch + np.arange(sizes.batch, dtype=np.int64) * _STEP_MS
            is_update = np.zeros(sizes.batch, bool)
            is_update[random.choice(sizes.batch, updates, replace=False)] = True
            keys = random.integers(0, int(sizes.keys * keys_used), sizes.batch)
            yield [
                feeds.numbered(name, keys[mask], _numbers(keys[mask] + number), times[mask])
                for name, mask in ((source, ~is_update), (table, is_update))
                if mask.any()
            ]

    return batches


def both_rows(names: int) -> Callable[[Feeds, Sizes], Iterator[Batch]]:
    """Return a function that makes batches: one left row per key, and the referenced right rows."""

    def load(feeds: Feeds, sizes: Sizes) -> Iterator[Batch]:
        yield from other_rows("other.source", names)(feeds, sizes)
        yield from other_rows("in.source")(feeds, sizes)

    return load


def updates_of(
    source: str, keys: int, share: float = 1
) -> Callable[[Feeds, Sizes], Iterator[Batch]]:
    """Return a function that makes batches of updates of one table, each row at most once."""

    def batches(feeds: Feeds, sizes: Sizes) -> Iterator[Batch]:
        random = np.random.default_rng(1)
        for number in range(sizes.batches):
            rows = random.permutation(min(keys, sizes.keys))[: max(1, int(sizes.batch * share))]
            times = np.full(len(rows), 1 + number)
            yield [feeds.numbered(source, rows, _numbers(rows + 1 + number), times)]

    return batches


def empty(_: Feeds, sizes: Sizes) -> Iterator[Batch]:
    """Yield batches without records."""
    for _number in range(sizes.batches):
        yield []


def of_rounds(rounds: int) -> Callable[[Feeds, Sizes], Iterator[Batch]]:
    """Return a function that makes batches of records that pass through the loop `rounds` times."""

    def batches(feeds: Feeds, sizes: Sizes) -> Iterator[Batch]:
        random = np.random.default_rng(1)
        for number in range(sizes.batches):
            keys = random.integers(0, sizes.keys, sizes.batch)
            times = number * sizes.batch + np.arange(sizes.batch, dtype=np.int64)
            values = np.full(sizes.batch, rounds + 1)
            yield [feeds.numbered("in", keys, _numbers(values), times)]

    return batches


def nothing(_feeds: Feeds, _sizes: Sizes) -> Iterator[Batch]:
    """Return no batches of initial state."""
    return iter(())


def _numbers(values: Numbers) -> pa.Array:
    return INT64.serialize_many(values.tolist())


CASES = {
    **{
        name: Case(
            f"100,000 rows stored, 2 % updates among the records, {how}",
            partial(stream_table, execution),
            other_rows("other.source"),
            with_updates("in", "other.source", 0.02),
            at_least=at_least,
        )
        for name, execution, how, at_least in _STREAM_TABLE
    },
    "table-table": Case(
        "100,000 rows of the other table stored, as many updates of both",
        table_table,
        other_rows("other.source"),
        with_updates("in.source", "other.source", 0.5),
        at_least=150_000,
    ),
    **{
        f"{name}{ending}": Case(
            f"two streams within 10 s, {what}, {how}",
            partial(interval, joiner, execution),
            nothing,
            with_updates("in", "other", 0.5, keys_used=0.5),
            at_least=least,
        )
        for name, joiner, what, wanted in _INTERVAL
        for ending, execution, how, least in _ways(wanted)
    },
    "global": Case(
        "100,000 rows stored, a look-up of any of them for each record",
        global_table,
        other_rows("other.source"),
        with_updates("in", "other.source", 0),
        at_least=1_000_000,
    ),
    "foreign-left": Case(
        "100,000 rows stored on both sides, left ones change and name another",
        partial(foreign, 100_000),
        both_rows(100_000),
        updates_of("in.source", 100_000),
        at_least=60_000,
    ),
    "foreign-fan-out": Case(
        "100 rows that 1,000 others name each; results a second",
        partial(foreign, 100),
        both_rows(100),
        updates_of("other.source", 100, share=1 / 1_000),
        at_least=500_000,
        counts="results",
    ),
    "foreign-empty": Case(
        "nothing comes, batches a second through three stages",
        partial(foreign, 100_000),
        both_rows(100_000),
        empty,
        at_least=5,
        counts="batches",
    ),
    "loop": Case(
        "three hops of each record, the durable log included",
        loop,
        nothing,
        of_rounds(3),
        at_least=150_000,
        counts="hops",
    ),
}
