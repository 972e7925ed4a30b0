"""A failed record leaves no effects, and its error names the place."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.errors import ProcessingError, SerializationError, TopologyError, UnknownNodeError
from kstreams.io import topic_by
from kstreams.processors import PunctuationType
from kstreams.processors.branch import Branch
from kstreams.processors.map_values import map_values
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.task.records.columns import rows_of
from kstreams.topology import to_function, to_stdout
from tests.kstreams.state.cache.test_overlay import Json
from tests.support.apps.one_task import IN, OUT, Calls, OneTask, calls, one_node, queue_of, values

TOTALS = key_value_store("totals", key=TEXT, value=INT64)
NOTES = key_value_store("notes", key=TEXT, value=Json())


class Everything(FixedKeyProcessor[str, int, int]):
    """Has every kind of effect, then fails for odd values."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        self.totals, self.notes = context.store(TOTALS), context.store(NOTES)
        kind = PunctuationType.STREAM_TIME
        self.tick = context.schedule(timedelta(milliseconds=10), kind, lambda now: None)

    def process(self, record: Record[str, int]) -> None:
        self.totals.put(record.key, (self.totals.get(record.key) or 0) + record.value)
        self.notes.put(record.key, [*(self.notes.get(record.key) or []), record.value])
        self.totals.delete("gone")
        self.context.drop("looked at")
        self.context.forward(record)
        self.tick.cancel()
        if record.value % 2:
            raise ArithmeticError(f"odd {record.value}")


def everything(on_error: Any) -> Topology:
    builder = TopologyBuilder("t", on_error=on_error)
    source = builder.add_source("in", IN)
    node = builder.add_processor("every", Everything, source, stores=[TOTALS, NOTES])
    builder.add_sink("out", OUT, node)
    builder.add_sink("by", topic_by(lambda r: f"t{r.value}", key=TEXT, value=INT64), node)
    builder.add_sink("lines", to_stdout(), node)
    again = builder.repartition("edge", node, key=TEXT, value=INT64)
    builder.add_sink("below", Topic("below", TEXT, INT64), again)
    return builder.build()


@pytest.mark.parametrize("on_error", ["skip", DeadLetter("dlq")], ids=["skip", "dead letter"])
def test_failed_record_leaves_no_output_and_no_state(on_error: Any) -> None:
    task, clean = OneTask(everything(on_error)), OneTask(everything(on_error))
    rows = [("a", 2, 1), ("a", 3, 2), ("b", 1, 3), ("b", 4, 4), ("a", 6, 5), ("c", 5, 99)]
    output = task.run(queue_of(rows))
    expected = clean.run(queue_of([row for row in rows if row[1] % 2 == 0]))
    assert output.sinks == expected.sinks
    assert output.edges == expected.edges
    assert output.lines == expected.lines
    assert output.counts["every"].dropped == {"looked at": 3}
    assert output.counts["in"].lost == 3
    contents = [list(task.base.scan(name, None, None)) for name in ("totals", "notes")]
    assert contents == [list(clean.base.scan(name, None, None)) for name in ("totals", "notes")]
    assert (task.meta.due, task.meta.stream_time) == (clean.meta.due, 99)


def test_cancellation_by_failed_record_is_rolled_back() -> None:
    task = OneTask(everything("skip"))
    task.run(queue_of([("a", 1, 25)]))
    assert task.meta.due == {"every/0": 30}
    task.run(queue_of([("a", 2, 26)], offsets=[1]))
    assert task.meta.due == {"every/0": -1}


def test_dead_letter_names_node_and_reason() -> None:
    output = OneTask(everything(DeadLetter("dlq"))).run(queue_of([("a", 3, 7)]))
    (letter,) = rows_of(output.dead_letters["dlq"])
    reasons = dict(letter.headers)
    assert (letter.key, letter.value, letter.timestamp) == (b"a", INT64.serialize(3), 7)
    assert reasons["kstreams-error-class"] == b"ProcessingError"
    assert reasons["kstreams-error-node"] == b"every"
    assert reasons["kstreams-error-message"] == b"ArithmeticError in a processor: odd 3"


def test_failed_record_may_advance_stream_time() -> None:
    task = OneTask(everything("skip"))
    task.run(queue_of([("a", 1, 77), ("a", 2, 5)]))
    assert task.meta.stream_time == 77


def test_policy_fail_fails_batch_with_place_of_record() -> None:
    with pytest.raises(ProcessingError) as caught:
        OneTask(everything("fail")).run(queue_of([("a", 2, 1), ("b", 3, 2)], offsets=[4, 8]))
    error, where = caught.value, caught.value.where
    assert (where.group, where.node, where.topic, where.partition) == ("in", "every", "in", 0)
    assert (where.offset, where.timestamp, where.key) == (8, 2, "b")
    assert error.cause_type == "builtins.ArithmeticError"
    assert "raise ArithmeticError" in error.cause_traceback
    assert isinstance(error.__cause__, ArithmeticError)
    assert "on_error='skip'" in error.hint


def boom(*_: Any) -> Any:
    raise LookupError("boom")


class Init(Calls):
    def init(self, context: ProcessorContext[Any, Any]) -> None:
        boom()


class Close(Calls):
    closed: list[str]

    def close(self) -> None:
        boom()


def chain(*suppliers: Callable[[], Any], sink: Any = OUT) -> Topology:
    builder = TopologyBuilder("t")
    node: Any = builder.add_source("in", IN)
    for number, supplier in enumerate(suppliers):
        node = builder.add_processor(f"n{number}", supplier, node)
    builder.add_sink("out", sink, node)
    return builder.build()


def same(value: int) -> int:
    return value


@pytest.mark.parametrize(
    ("topology", "node"),
    [
        (chain(map_values(same), map_values(boom), map_values(same)), "n1"),
        (chain(map_values(same), map_values(same), map_values(boom)), "n2"),
        (chain(calls(), calls(boom), calls()), "n1"),
        (chain(calls(), sink=to_function(boom)), "out"),
        (chain(calls(), sink=topic_by(boom, key=TEXT, value=INT64)), "out"),
    ],
    ids=["closure", "one of equal closures", "method", "function sink", "chosen topic"],
)
def test_error_names_failed_node(topology: Topology, node: str) -> None:
    with pytest.raises(ProcessingError) as caught:
        OneTask(topology).run(queue_of([("a", 1, 0)]))
    assert caught.value.where.node == node


def test_error_of_failing_init_names_its_node() -> None:
    with pytest.raises(ProcessingError) as caught:
        OneTask(chain(calls(), Init, calls()), partition=3)
    where = caught.value.where
    assert (where.group, where.node, where.partition) == ("in", "n1", 3)


def test_error_of_failing_supplier_names_its_node() -> None:
    made: list[Calls] = []

    def supplier() -> Calls:
        made.append(Calls())
        return boom() if len(made) > 2 else made[-1]

    with pytest.raises(ProcessingError) as caught:
        OneTask(chain(supplier))
    assert caught.value.where.node == "n0"


def test_error_of_failing_close_names_its_node_and_other_nodes_are_closed() -> None:
    closed: list[str] = []

    class Closes(Calls):
        def close(self) -> None:
            closed.append("closed")

    task = OneTask(chain(Closes, Close, Closes))
    with pytest.raises(ProcessingError) as caught:
        task.task.close()
    assert (caught.value.where.node, closed) == ("n1", ["closed", "closed"])


@pytest.mark.parametrize("on_error", ["fail", "skip"], ids=["deferred", "eager"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Record("k", "text", 5), "expected int64"),
        (Record("k", 2**63, 5), "expected int64"),
        (Record(b"k", 1, 5), "expected text"),
        (Record("k", 1, 2**63), "timestamp"),
        (Record("k", 1, None), "TypeError"),  # type: ignore[arg-type]  # invalid on purpose
        (Record("k", 1, 5, (("h", "text"),)), "header"),  # type: ignore[arg-type]  # invalid on purpose
    ],
    ids=["value type", "value range", "key type", "time range", "no time", "header"],
)
def test_error_of_result_unfit_for_sink_names_node_topic_and_key(
    on_error: Any, bad: Record[Any, Any], message: str
) -> None:
    def forward_bad(context: Any, _: Record[Any, Any]) -> None:
        context.forward(bad)

    task = OneTask(one_node(calls(forward_bad), on_error=on_error))
    queue = queue_of([("a", 1, 0)])
    if on_error == "skip":
        assert task.run(queue).dropped == {"skipped-SerializationError": 1}
        return
    with pytest.raises(SerializationError, match=message) as caught:
        task.run(queue)
    where = caught.value.where
    assert (where.node, where.target, where.key) == ("out", "out", bad.key)
    assert (where.topic, where.offset) == (None, None)


def test_error_of_unknown_child_lists_known_children() -> None:
    def nowhere(context: Any, record: Record[Any, Any]) -> None:
        context.forward_to("nowhere", record)

    with pytest.raises(UnknownNodeError, match=r"no child 'nowhere'; its children: 'out'") as found:
        OneTask(one_node(calls(nowhere))).run(queue_of([("a", 1, 0)]))
    assert found.value.where.node == "node"
    assert isinstance(found.value, KeyError)


def test_store_not_given_to_node_is_rejected() -> None:
    class Asks(Calls):
        def init(self, context: ProcessorContext[Any, Any]) -> None:
            context.store(TOTALS)

    with pytest.raises(TopologyError, match="uses store 'totals', but was added with no stores"):
        OneTask(one_node(Asks))


def test_records_without_matching_branch_are_counted_as_dropped() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", IN)
    low = builder.branch("by", source, {"low": lambda _, value: value < 5})["low"]
    builder.add_sink("out", OUT, low)
    output = OneTask(builder.build()).run(queue_of([("a", 1, 0), ("a", 7, 1)]))
    assert (values(output), output.dropped) == ([1], {"no-branch": 1})
    assert Branch.keeps_key
