"""Batch processors: contents, boundaries and order of their tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    DeadLetter,
    Processor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.errors import KStreamsError, ProcessingError, SerializationError, UnknownNodeError
from kstreams.io import topic_by
from kstreams.processors import BatchContext, BatchProcessor, PunctuationType
from kstreams.serde import INT32
from kstreams.task.records.columns import COLUMNS
from kstreams.topology import to_stdout
from tests.kstreams.state.cache.test_overlay import Json
from tests.support.apps.one_task import IN, OUT, OneTask, calls, one_node, queue_of, records, values

STREAM = PunctuationType.STREAM_TIME


class Tables(BatchProcessor[Any, Any, Any, Any]):
    """Keeps its tables, and forwards the result of a function of each."""

    def __init__(
        self,
        seen: list[pa.Table] | None = None,
        make: Callable[[pa.Table], pa.Table] = lambda table: table,
        every: int | None = None,
    ) -> None:
        self.seen = seen if seen is not None else []
        self.make = make
        self.every = every

    def init(self, context: BatchContext) -> None:
        super().init(context)
        if self.every is not None:
            context.schedule(timedelta(milliseconds=self.every), STREAM, self.tick)

    def tick(self, now: int) -> None:
        times = pa.array([now], pa.int64())
        self.context.forward(pa.table({"key": ["tick"], "value": [-1], "timestamp": times}))

    def process_batch(self, table: pa.Table) -> None:
        self.seen.append(table)
        self.context.forward(self.make(table))


def times_of(tables: list[pa.Table]) -> list[list[int]]:
    return [table.column("timestamp").to_pylist() for table in tables]


def test_batch_table_has_types_positions_and_headers_of_source() -> None:
    seen: list[pa.Table] = []
    source = Topic("in", TEXT, INT32, nulls="pass")
    data = [("a", INT32.serialize(1), 5), ("b", None, 6)]
    headers: Any = [(("h", b"1"), ("h", None)), ()]
    task = OneTask(one_node(lambda: Tables(seen), source=source, sink=Topic("out", TEXT, INT32)))
    output = task.run(queue_of(data, partition=3, offsets=[7, 9], headers=headers))
    (table,) = seen
    assert table.column_names == list(COLUMNS)
    kinds = [pa.string(), pa.int32(), pa.int64(), pa.int32(), pa.int64()]
    assert table.schema.types[:5] == kinds
    assert table.drop_columns("headers").to_pylist() == [
        {"key": "a", "value": 1, "timestamp": 5, "partition": 3, "offset": 7},
        {"key": "b", "value": None, "timestamp": 6, "partition": 3, "offset": 9},
    ]
    assert records(output.sinks["out"], Topic("out", TEXT, INT32)) == [
        Record("a", 1, 5, headers[0]), Record("b", None, 6)
    ]  # fmt: skip


def test_batch_processor_receives_no_empty_table() -> None:
    seen: list[pa.Table] = []
    task = OneTask(one_node(lambda: Tables(seen, lambda table: table.slice(0, 0))))
    assert task.run(queue_of([]), queue_of([(None, 1, 0)])).sinks == {}
    assert seen == []
    assert task.run(queue_of([("a", 1, 0)], offsets=[5])).sinks == {}
    assert len(seen) == 1


@pytest.mark.parametrize("mixed", [False, True], ids=["tables alone", "with a record sibling"])
def test_batch_table_ends_after_record_that_makes_a_punctuator_due(mixed: bool) -> None:
    seen: list[pa.Table] = []
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    if mixed:
        builder.add_sink("sibling", to_stdout(), source)
    node = builder.add_processor("node", lambda: Tables(seen, every=10), source)
    builder.add_sink("out", OUT, node)
    task = OneTask(builder.build())
    times = [3, 4, 9, 12, 2, 31, 35, 40]
    output = task.run(queue_of([("k", t, t) for t in times]))
    assert times_of(seen) == [[3], [4, 9, 12], [2, 31], [35, 40]]
    assert values(output) == [3, -1, 4, 9, 12, -1, 2, 31, -1, 35, 40, -1]
    assert seen[1].column("offset").to_pylist() == [1, 2, 3]
    assert task.meta.stream_time == 40


@pytest.mark.parametrize("mixed", [False, True], ids=["tables alone", "with a record sibling"])
def test_batch_tables_of_two_sources_keep_order_of_records(mixed: bool) -> None:
    seen: list[pa.Table] = []
    order: list[int] = []
    builder = TopologyBuilder("t")
    left, right = builder.add_source("in", IN), builder.add_source("o", Topic("o", TEXT, INT64))
    if mixed:
        look = calls(lambda _, record: order.append(record.value))
        builder.add_sink("x", to_stdout(), builder.add_processor("look", look, left, right))
    node = builder.add_processor("node", lambda: Tables(seen, every=10), left, right)
    builder.add_sink("out", OUT, node)
    OneTask(builder.build()).run(
        queue_of([("a", 1, 5), ("a", 2, 21), ("a", 3, 1)]),
        queue_of([("b", 4, 5), ("b", 5, 6), ("b", 6, 22)], entry="o"),
    )
    found = [table.column("value").to_pylist() for table in seen]
    assert found == [[1], [4, 5, 2], [3, 6]]
    if mixed:
        assert order == [1, 4, 5, 2, 3, 6]


def test_batch_processor_receives_its_own_sources_only() -> None:
    left_seen: list[pa.Table] = []
    both_seen: list[pa.Table] = []
    builder = TopologyBuilder("t")
    left, right = builder.add_source("in", IN), builder.add_source("o", Topic("o", TEXT, INT64))
    one = builder.add_processor("one", lambda: Tables(left_seen), left)
    two = builder.add_processor("two", lambda: Tables(both_seen), left, right, one)
    builder.add_sink("out", OUT, two)
    output = OneTask(builder.build()).run(
        queue_of([("a", 1, 5), ("a", 2, 7)]), queue_of([("b", 3, 6)], entry="o")
    )
    assert [t.column("value").to_pylist() for t in left_seen] == [[1, 2]]
    assert [t.column("value").to_pylist() for t in both_seen] == [[1, 3, 2, 1, 2]]
    assert values(output) == [1, 3, 2, 1, 2]


def test_records_and_tables_of_batch_processor_keep_order_of_forwarding() -> None:
    seen: list[pa.Table] = []
    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", TEXT, INT32))

    def add_ten(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record.with_value(record.value + 10).with_headers((("h", b"x"),)))

    class Adds(Processor[str, int, str, int]):
        def process(self, record: Record[str, int]) -> None:
            add_ten(self.context, record)

    adds = builder.add_processor("adds", Adds, source)
    node = builder.add_processor("node", lambda: Tables(seen), source, adds)
    builder.add_sink("out", OUT, node)
    rows = [(k, INT32.serialize(n), n) for n, k in enumerate("abc")]
    output = OneTask(builder.build()).run(queue_of(rows))
    assert values(output) == [10, 0, 11, 1, 12, 2]
    assert seen[0].column("offset").to_pylist() == [None, 0, None, 1, None, 2]
    assert [r.headers for r in records(output.sinks["out"])][:2] == [(("h", b"x"),), ()]


def test_mutable_value_changed_after_forwarding_is_forwarded_unchanged() -> None:
    seen: list[pa.Table] = []
    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", TEXT, Json()))

    def change(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record)
        record.value.append(9)

    changes = builder.add_processor("change", calls(change), source)
    node = builder.add_processor("node", lambda: Tables(seen), changes)
    builder.add_sink("out", to_stdout(), node)
    OneTask(builder.build()).run(queue_of([("a", b"[1]", 0)]))
    assert seen[0].column("value").to_pylist() == [[1], [1, 9]]


@pytest.mark.parametrize("values_in", [[None, None], [None, 5], [1, 5]])
def test_column_types_of_batch_table_do_not_depend_on_values(values_in: list[int | None]) -> None:
    seen: list[pa.Table] = []

    class Optional(BatchProcessor[str, int | None, str, int]):
        def process_batch(self, table: pa.Table) -> None:
            seen.append(table)

    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", TEXT, INT64, nulls="pass"))
    through = builder.merge("through", source)
    node: Any = builder.add_processor("node", Optional, through)
    builder.add_sink("out", to_stdout(), node)
    OneTask(builder.build()).run(queue_of([("a", v, 0) for v in values_in]))
    assert seen[0].schema.types[:2] == [pa.string(), pa.int64()]


def test_batch_table_leaves_out_undecodable_rows_by_policy() -> None:
    seen: list[pa.Table] = []
    rows = [("a", 1, 5), ("b", b"bad", 99), (b"\xff", 3, 6), ("d", 4, 7)]
    topology = one_node(lambda: Tables(seen, every=10), on_error=DeadLetter("dlq"))
    output = OneTask(topology).run(queue_of(rows))
    assert times_of(seen) == [[5], [7]]
    assert output.dead_letters["dlq"].column("timestamp").to_pylist() == [99, 6]
    assert output.dropped == {"dead-letter-DeserializationError": 2}


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_failing_batch_processor_fails_batch(on_error: Any) -> None:
    def fail(_: pa.Table) -> pa.Table:
        raise ArithmeticError("no")

    with pytest.raises(ProcessingError) as caught:
        OneTask(one_node(lambda: Tables(None, fail), on_error=on_error)).run(
            queue_of([("a", 1, 5)])
        )
    where = caught.value.where
    assert (where.group, where.node, where.partition) == ("in", "node", 0)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"key": ["a"], "value": [1]}, "timestamp"),
        ({"key": ["a"], "value": [1], "timestamp": [None]}, "null"),
        ({"key": ["a"], "value": ["x"], "timestamp": [1]}, "int64"),
        ({"key": [1], "value": [1], "timestamp": [1]}, "text"),
        ({"key": ["a"], "value": [1.5], "timestamp": [1]}, "int64"),
    ],
    ids=["no time", "null time", "value type", "key type", "fraction"],
)
def test_error_of_table_unfit_for_sink_names_the_sink(table: dict[str, Any], message: str) -> None:
    topology = one_node(lambda: Tables(None, lambda _: pa.table(table)))
    with pytest.raises(SerializationError, match=message) as caught:
        OneTask(topology).run(queue_of([("a", 1, 5)]))
    where = caught.value.where
    assert (where.node, where.target, where.topic) == ("out", "out", None)


def test_error_of_records_unfit_for_columns_names_batch_processor() -> None:
    class Numbers(BatchProcessor[str, int, str, int]):
        def process_batch(self, table: pa.Table) -> None:
            raise AssertionError(table)

    def forward(context: Any, record: Record[Any, Any]) -> None:
        context.forward(record.with_value("text"))

    builder = TopologyBuilder("t")
    node = builder.add_processor("node", calls(forward), builder.add_source("in", IN))
    below = builder.add_processor("below", Numbers, node)
    builder.add_sink("out", to_stdout(), below)
    with pytest.raises(ProcessingError, match="not convertible to an Arrow table") as caught:
        OneTask(builder.build()).run(queue_of([("a", 1, 5)]))
    assert caught.value.where.node == "below"


def tree(*sinks: tuple[str, Any]) -> Topology:
    builder = TopologyBuilder("t")
    node = builder.add_processor("node", lambda: Tables(), builder.add_source("in", IN))
    for name, target in sinks:
        builder.add_sink(name, target, node)
    return builder.build()


def test_table_is_forwarded_to_children_of_every_kind() -> None:
    seen: list[Record[Any, Any]] = []
    builder = TopologyBuilder("t")
    node = builder.add_processor("node", lambda: Tables(), builder.add_source("in", IN))
    builder.add_sink("out", OUT, node)
    builder.add_sink("lines", to_stdout(), node)
    record = builder.add_processor("record", calls(lambda _, r: seen.append(r)), node)
    builder.add_sink("again", Topic("again", TEXT, INT64), record)
    edge = builder.repartition("edge", node, key=TEXT, value=INT64)
    builder.add_sink("below", Topic("below", TEXT, INT64), edge)
    headers: Any = [(("h", b"1"),)]
    output = OneTask(builder.build()).run(queue_of([("a", 1, 5)], headers=headers))
    made = Record("a", 1, 5, headers[0])
    assert seen == [made]
    for table in (output.sinks["out"], output.sinks["again"], output.edges["edge"]):
        assert records(table) == [made]
    assert output.lines == ["lines: 'a' -> 1 @5 {'h': b'1'}"]


def test_sink_with_topic_chosen_per_record_rejects_tables() -> None:
    target = topic_by(lambda record: "x", key=TEXT, value=INT64)
    with pytest.raises(SerializationError, match="a table was forwarded to a sink") as caught:
        OneTask(tree(("out", target))).run(queue_of([("a", 1, 5)]))
    assert caught.value.where.node == "out"


def test_tables_of_bytes_serdes_contain_undecoded_bytes() -> None:
    seen: list[pa.Table] = []
    topic = Topic("in", BYTES, Json())
    topology = one_node(lambda: Tables(seen), source=topic, sink=topic)
    output = OneTask(topology).run(queue_of([("a", b"{not looked at", 5)]))
    assert seen[0].column("value").to_pylist() == [b"{not looked at"]
    assert output.sinks["out"].column("value").to_pylist() == [b"{not looked at"]


def test_batch_processor_forwards_to_child_by_name() -> None:
    class Picks(Tables):
        def process_batch(self, table: pa.Table) -> None:
            self.context.forward_to("b", table)
            self.context.forward_to("c", table)

    builder = TopologyBuilder("t")
    node = builder.add_processor("node", Picks, builder.add_source("in", IN))
    builder.add_sink("a", OUT, node)
    builder.add_sink("b", OUT, node)
    task = OneTask(builder.build())
    with pytest.raises(UnknownNodeError, match="'c'; its children: 'a', 'b'"):
        task.run(queue_of([("a", 1, 5)]))


def test_errors_of_tables_are_library_errors() -> None:
    with pytest.raises(KStreamsError):
        OneTask(one_node(lambda: Tables(None, lambda _: None))).run(queue_of([("a", 1, 5)]))
