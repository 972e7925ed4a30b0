"""A drawn topology of tables and joins: a join for each step, over three topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from kstreams import (
    INT64,
    TEXT,
    Node,
    Processor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    aggregate,
    rekey,
)
from kstreams.aggregators import sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update
from kstreams.joins import inner, left, outer, within
from kstreams.stores import (
    StoreSpec,
    join_store,
    queue_store,
    timestamped_store,
    versioned_key_value_store,
)
from kstreams.topology import Table, feed
from tests.support.generated.topology_plan import Plan

__all__ = ("STEPS", "JoinPlan", "Step")

STEPS = (
    "aggregate",
    "as-of",
    "cogroup",
    "derive",
    "foreign",
    "global",
    "loop",
    "regroup",
    "self",
    "streams",
    "table",
    "tables",
    "ttl",
    "versioned",
)

_HOWS: dict[str, Any] = {"inner": inner, "left": left, "outer": outer}
_KEYS = "abcd"


@dataclass(frozen=True)
class Step:
    """A join or a table, with its output topic.

    Attributes:
        kind: One of `STEPS`.
        how: Kind of the joiner; an outer one becomes a left one where the join has no outer kind.
        first: Number that selects the first input.
        second: Number that selects the second input.
        span: Window or grace period in milliseconds.
        each: Forward each update.
    """

    kind: str
    how: Literal["inner", "left", "outer"]
    first: int
    second: int
    span: int
    each: bool


@dataclass(frozen=True)
class JoinPlan(Plan):
    """Steps over the stream `in0`, the tables of `in1` and `in2`, and the global table of `in3`."""

    steps: tuple[Step, ...] = ()
    execution: Literal["auto", "records"] = "auto"

    def topology(self) -> Topology:
        """Build the topology."""
        drawing = _Drawing(self, TopologyBuilder("drawn"))
        for number, step in enumerate(self.steps):
            drawing.add(step, number)
        return drawing.builder.build()

    def describe(self) -> str:
        """Return a description with a line for each step."""
        return "\n".join([f"partitions={self.partitions}", *map(str, self.steps)])


def pair(one: int | None, other: int | None) -> int:
    """Combine two numbers into one; either may be missing."""
    return ((one or 0) * 31 + (7 if other is None else other)) % 1_000


def group_of(_: str, value: int) -> str | None:
    """Return a key from a value, or None for some values."""
    return None if value % 5 == 0 else _KEYS[value % 4]


def rows(name: str) -> Topic[Any, Any]:
    topic: Topic[str, int] = Topic(name, TEXT, INT64)
    return topic


def plain(name: str) -> StoreSpec[Any]:
    return timestamped_store(name, key=TEXT, value=INT64)


class _Half(Processor[str, int, str, int]):
    """Forwards half of a value, if it is positive."""

    def process(self, record: Record[str, int]) -> None:
        if record.value > 1:
            self.context.forward(record.with_value(record.value // 2))


@dataclass
class _Drawing:
    plan: JoinPlan
    builder: TopologyBuilder
    streams: list[Node[Any, Any]] = field(default_factory=list)
    tables: list[Table[Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        build = self.builder
        self.streams.append(build.add_source("stream", Topic("in0", TEXT, INT64)))
        build.add_sink("echo", Topic("echo", TEXT, INT64), self.streams[0])
        for name in ("in1", "in2"):
            table = build.add_table(f"of-{name}", rows(name), store=plain(name))
            self.tables.append(table)

    def add(self, step: Step, number: int) -> None:
        """Add a step and its sink."""
        made = _MAKERS[step.kind](self, step, f"s{number}")
        if isinstance(made, Table):
            emit: dict[str, Any] = {"emit": each_update()} if step.each else {}
            made = self.builder.to_stream(f"s{number}-stream", made, **emit)
        target = Topic(f"out{number}", TEXT, INT64, nulls="pass")
        self.builder.add_sink(f"s{number}-out", target, made)

    def stream(self, step: Step) -> Node[Any, Any]:
        return self.streams[step.first % len(self.streams)]

    def table(self, number: int) -> Table[Any, Any]:
        return self.tables[number % len(self.tables)]

    def kept(self, table: Table[Any, Any]) -> Table[Any, Any]:
        """Make the table available to later steps of the same group."""
        self.tables.append(table)
        return table


def _joiner(step: Step, *, sides: int = 1) -> Any:  # of any kind
    how = "left" if step.how == "outer" and sides == 1 else step.how
    return _HOWS[how](pair)


def _history(drawing: _Drawing, step: Step, name: str) -> Any:
    store = versioned_key_value_store(
        f"{name}-versions", key=TEXT, value=INT64, retention=milliseconds(20 + step.span)
    )
    return drawing.builder.to_table(f"{name}-versions", drawing.stream(step), store=store)


def _as_of(drawing: _Drawing, step: Step, name: str) -> Node[Any, Any]:
    return drawing.builder.join_as_of(
        name,
        drawing.stream(step),
        _history(drawing, step, name),
        _joiner(step),
        grace=milliseconds(step.span),
        waiting=queue_store(f"{name}-waiting", key=TEXT, value=INT64),
    )


def _versioned(drawing: _Drawing, step: Step, name: str) -> Node[Any, Any]:
    table = _history(drawing, step, name)
    return drawing.builder.join_table(name, drawing.stream(step), table, _joiner(step))


def _stream_table(drawing: _Drawing, step: Step, name: str) -> Node[Any, Any]:
    stream, table = drawing.stream(step), drawing.table(step.second)
    execution = drawing.plan.execution
    joined = drawing.builder.join_table(name, stream, table, _joiner(step), execution=execution)
    drawing.streams.append(joined)
    return joined


def _tables(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    one, other = drawing.table(step.first), drawing.table(step.second)
    store = plain(name) if step.span % 2 else None
    joiner = _joiner(step, sides=2)
    return drawing.kept(drawing.builder.join_tables(name, one, other, joiner, store=store))


def _streams(drawing: _Drawing, step: Step, name: str) -> Node[Any, Any]:
    one = drawing.stream(step)
    other = drawing.streams[step.second % len(drawing.streams)]
    other = one if step.kind == "self" else other
    near = within(milliseconds(step.span), milliseconds(step.first), grace=milliseconds(5))
    store = join_store(name, key=TEXT, left=INT64, right=INT64)
    joiner = _joiner(step, sides=2)
    return drawing.builder.join_streams(name, one, other, joiner, within=near, store=store)


def _derive(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    def some(_: str, value: int) -> int | None:
        return None if value % 3 == 0 else value + 1

    store = plain(name) if step.span % 2 else None
    return drawing.kept(drawing.builder.derive(name, drawing.table(step.first), some, store=store))


def _ttl(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    ttl: timedelta = milliseconds(1 + step.span)
    stream = drawing.stream(step)
    return drawing.kept(drawing.builder.to_table(name, stream, store=plain(name), ttl=ttl))


def _aggregate(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    total = aggregate(sum_(INT64), store=plain(name))
    return drawing.kept(drawing.builder.aggregate_table(name, total, drawing.stream(step)))


def _cogroup(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    def later(old: int | None, record: Record[str, int]) -> int | None:
        return None if record.value % 7 == 0 else pair(old, record.value)

    feeds = {node.name: feed(node, later) for node in (drawing.stream(step), drawing.streams[0])}
    return drawing.kept(drawing.builder.cogroup(name, *feeds.values(), store=plain(name)))


def _regroup(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    table, store = drawing.table(step.first), plain(name)
    total = sum_(INT64)
    builder: Any = drawing.builder  # the table's types are unknown
    groups: Table[Any, Any] = builder.regroup(
        name, table, group_of, total, store=store, value=INT64
    )
    return groups


def _foreign(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    """Join by a key in the values; every other time, join the result again by a key of its own."""
    given: dict[str, Any] = {"by": group_of, "value": INT64}
    builder, joiner = drawing.builder, _joiner(step)
    full = drawing.table(step.first)
    for again in range(1 + step.span % 2):
        own = f"{name}-{again}"
        far = _far(drawing, own)
        full = builder.join_foreign(own, full, far, joiner, store=plain(own), **given)
    return full


def _far(drawing: _Drawing, name: str) -> Table[Any, Any]:
    """Return a table of the stream's records, in a separate group."""
    edge = drawing.builder.repartition(f"{name}-far", drawing.streams[0], key=TEXT, value=INT64)
    far: Table[Any, Any] = drawing.builder.to_table(
        f"{name}-far-rows", edge, store=plain(f"{name}-far-rows")
    )
    return far


def _global(drawing: _Drawing, step: Step, name: str) -> Node[Any, Any]:
    store = plain("everywhere")
    known = drawing.builder.add_global_table(name, rows("in3"), store=store)
    builder: Any = drawing.builder  # the table's types are unknown
    joined: Node[Any, Any] = builder.join_global(
        f"{name}-join", drawing.stream(step), known, _joiner(step), by=group_of
    )
    return joined


def _loop(drawing: _Drawing, step: Step, name: str) -> Table[Any, Any]:
    """Send half of a value to another key, until it is zero."""
    builder = drawing.builder
    loop = builder.add_loop(name, key=TEXT, value=INT64, max_hops=12)

    def onward(key: str, value: int) -> str:
        return _KEYS[(value + len(key)) % 4]

    def halves(old: int | None, record: Record[str, int]) -> int:
        return pair(old, record.value)

    both = builder.merge(f"{name}-both", drawing.streams[0], loop)
    left_over = builder.add_processor(f"{name}-half", _Half, both)
    builder.close_loop(loop, builder.add_processor(f"{name}-on", rekey(onward), left_over))
    return builder.cogroup(
        f"{name}-table",
        feed(drawing.streams[0], halves),
        feed(loop, halves),
        store=plain(f"{name}-table"),
    )


_MAKERS: dict[str, Callable[[_Drawing, Step, str], Any]] = {
    "aggregate": _aggregate,
    "as-of": _as_of,
    "cogroup": _cogroup,
    "derive": _derive,
    "foreign": _foreign,
    "global": _global,
    "loop": _loop,
    "regroup": _regroup,
    "self": _streams,
    "streams": _streams,
    "table": _stream_table,
    "tables": _tables,
    "ttl": _ttl,
    "versioned": _versioned,
}
