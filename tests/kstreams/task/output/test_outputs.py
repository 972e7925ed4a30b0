"""The output of a task, and interceptors around its processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.ids import TaskId, TopicPartition
from kstreams.io import topic_by
from kstreams.raw_batch import OUTPUT_SCHEMA
from kstreams.task.output.collector import Collector
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.topology import to_function, to_stdout
from tests.support.apps.one_task import IN, OUT, OneTask, calls, one_node, queue_of, records, values

_RECORDS = st.builds(
    Record,
    st.none() | st.text(max_size=3),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**40),
    st.lists(st.tuples(st.text(max_size=1), st.none() | st.binary(max_size=1)), max_size=2).map(
        tuple
    ),
)


@given(st.lists(_RECORDS))
def test_collector_gives_same_table_by_eager_and_by_late_encoding(
    made: list[Record[Any, Any]],
) -> None:
    tables = []
    for eager in (False, True):
        collector = Collector("sink", "topic", TEXT, INT64, eager=eager)
        for record in made:
            collector.take(record)
        tables.append(collector.drain())
        assert collector.drain() is None
    deferred, at_once = tables
    assert (deferred is None) == (not made)
    if deferred is not None and at_once is not None:
        assert deferred.schema == OUTPUT_SCHEMA
        assert deferred.equals(at_once)
        assert records(deferred) == made


@pytest.mark.parametrize("eager", [False, True])
def test_collector_cut_drops_results_taken_after_call_of_mark(eager: bool) -> None:
    collector = Collector("sink", "topic", TEXT, INT64, eager=eager)
    collector.take_table(pa.table({"key": ["t"], "value": [0], "timestamp": [0]}))
    collector.take(Record("a", 1, 0))
    mark = collector.mark()
    collector.take(Record("b", 2, 0))
    collector.cut(mark)
    collector.take(Record("c", 3, 0))
    assert [r.value for r in records(collector.drain())] == [0, 1, 3]


def test_stdout_sink_prints_a_thousand_lines_of_batch_and_counts_rest() -> None:
    builder = TopologyBuilder("t")
    builder.add_sink("lines", to_stdout(), builder.add_source("in", IN))
    task = OneTask(builder.build())
    rows = [("k", n, n) for n in range(1_003)]
    output = task.run(queue_of(rows))
    assert len(output.lines) == 1_001
    assert output.lines[0] == "lines: 'k' -> 0 @0"
    assert output.lines[-1] == "lines: … and 3 more"
    assert task.run(queue_of([("k", 5, 5)], offsets=[2_000])).lines == ["lines: 'k' -> 5 @5"]


def test_function_sink_receives_each_record() -> None:
    seen: list[Record[str, int]] = []
    builder = TopologyBuilder("t")
    builder.add_sink("call", to_function(seen.append), builder.add_source("in", IN))
    assert OneTask(builder.build()).run(queue_of([("a", 1, 2)])).sinks == {}
    assert seen == [Record("a", 1, 2)]


def test_topic_is_chosen_for_each_record() -> None:
    target = topic_by(lambda record: f"by-{record.value % 2}", key=TEXT, value=INT64)
    builder = TopologyBuilder("t")
    builder.add_sink("by", target, builder.add_source("in", IN))
    output = OneTask(builder.build()).run(queue_of([("a", n, n) for n in range(3)]))
    assert output.sinks["by"].column("topic").to_pylist() == ["by-0", "by-1", "by-0"]
    assert values(output, "by") == [0, 1, 2]


def test_task_skips_processed_offsets_and_accepts_offset_gaps() -> None:
    task = OneTask(one_node(calls()))
    assert values(task.run(queue_of([("a", n, n) for n in (0, 1, 2)], offsets=[4, 6, 9]))) == [
        0,
        1,
        2,
    ]
    output = task.run(queue_of([("a", n, n) for n in (2, 3)], offsets=[9, 15]))
    assert (values(output), output.records_in) == ([3], 1)
    assert task.run(queue_of([("a", 7, 7)], offsets=[15])).records_in == 0
    assert task.meta.next_offsets == {TopicPartition("in", 0): 16}
    assert task.meta.stream_time == 3


def test_children_receive_record_in_order_of_builder_calls() -> None:
    order: list[str] = []
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    for name in ("b", "a", "c"):
        builder.add_sink(name, to_function(lambda _, name=name: order.append(name)), source)  # type: ignore[misc]  # lambda
    OneTask(builder.build()).run(queue_of([("a", 1, 2)]))
    assert order == ["b", "a", "c"]


class Tracer:
    """Records the calls it wraps."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def bind(
        self, node: str, task: TaskId, process: Callable[[Record[Any, Any]], None]
    ) -> Callable[[Record[Any, Any]], None]:
        def call(record: Record[Any, Any]) -> None:
            self.log.append(f"{self.name}>{node}@{task}")
            process(record)
            self.log.append(f"{self.name}<{node}")

        return call


def test_first_interceptor_wraps_second_one() -> None:
    log: list[str] = []
    topology = one_node(calls(lambda *_: log.append("process")))
    task = OneTask(topology, partition=2, interceptors=[Tracer("one", log), Tracer("two", log)])
    task.run(queue_of([("a", 1, 2)]))
    assert log == ["one>node@in/2", "two>node@in/2", "process", "two<node", "one<node"]


def test_task_meta_survives_conversion_to_json_and_ignores_later_changes_of_the_json() -> None:
    meta = TaskMeta(5, {TopicPartition("in", 0): 3}, {"node/0": -1})
    data = meta.to_json()
    assert TaskMeta.from_json(data) == meta
    data["next"]["in/0"] = 9
    assert meta.next_offsets == {TopicPartition("in", 0): 3}
    assert TaskMeta.from_json({}) == TaskMeta()


def test_task_without_records_has_empty_output() -> None:
    output = OneTask(one_node(calls(), sink=Topic("out", TEXT, INT64))).run()
    assert (output.sinks, output.edges, output.records_in, output.dropped) == ({}, {}, 0, {})
    assert OUT.name == "out"
