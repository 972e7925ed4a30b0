"""Records received and forwarded by each node of a batch, counted by calls only if necessary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import (
    INT64,
    TEXT,
    DeadLetter,
    Processor,
    Record,
    Topology,
    TopologyBuilder,
    filter_,
    flat_map,
    map_values,
)
from kstreams.processors.interceptor import Interceptor
from kstreams.state.log.totals import NodeCounts
from kstreams.task.output.outputs import TaskOutput
from kstreams.topology import to_stdout
from tests.support.apps.one_task import IN, OUT, OneTask, queue_of

ROWS = [("a", 1, 1), ("b", 2, 2), ("c", 3, 3), (None, 4, 4)]


class Own(Processor[str, int, str, int]):
    """Forwards each record twice."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)
        self.context.forward(record)


class Chosen(Processor[str, int, str, int]):
    """Forwards to all children, and to one child again."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)
        self.context.forward_to("left", record)


class Failing(Processor[str, int, str, int]):
    """Forwards, then fails at odd values."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)
        if record.value % 2:
            raise ValueError(record.value)


class Skipping(Interceptor):
    """Skips every second call of a node."""

    def bind(self, node: str, task: Any, call: Callable[[Any], None]) -> Callable[[Any], None]:
        calls = iter(range(1_000))
        return lambda record: None if next(calls) % 2 else call(record)


def counted(output: TaskOutput) -> dict[str, tuple[int, int]]:
    return {name: (n.records_in, n.records_out) for name, n in output.counts.items()}


def chain(*suppliers: Any, on_error: Any = "fail") -> Topology:
    builder = TopologyBuilder("t", on_error=on_error)
    node: Any = builder.add_source("in", IN)
    for number, supplier in enumerate(suppliers):
        node = builder.add_processor(f"n{number}", supplier, node)
    builder.add_sink("out", OUT, node)
    return builder.build()


def tallies(task: OneTask) -> int:
    return len(task.task._wiring.flows.tallies)


def test_record_counts_of_operator_chain_need_no_counting_calls() -> None:
    task = OneTask(chain(map_values(abs), filter_(lambda k, v: v > 1), map_values(abs)))
    output = task.run(queue_of(ROWS))
    assert counted(output) == {
        "in": (4, 3),
        "n0": (3, 3),
        "n1": (3, 2),
        "n2": (2, 2),
        "out": (2, 2),
    }
    assert output.counts["in"] == NodeCounts(4, 3, dropped={"null-key": 1})
    assert tallies(task) == 0


def test_nodes_with_unknown_number_of_outputs_are_counted_per_call() -> None:
    double: Any = flat_map(lambda key, value: [(key, value)] * 2)
    task = OneTask(chain(double, filter_(lambda k, v: v > 1), map_values(abs), double))
    assert counted(task.run(queue_of(ROWS))) == {
        "in": (4, 3), "n0": (3, 6), "n1": (6, 4), "n2": (4, 4), "n3": (4, 8), "out": (8, 8)
    }  # fmt: skip
    assert tallies(task) == 2


def test_calls_between_custom_processors_are_counted() -> None:
    task = OneTask(chain(Own, Own, map_values(abs)))
    for _ in range(2):
        output = task.run(queue_of(ROWS[:3]))
        task.meta.next_offsets.clear()
        assert counted(output) == {
            "in": (3, 3), "n0": (3, 6), "n1": (6, 12), "n2": (12, 12), "out": (12, 12)
        }  # fmt: skip
    assert tallies(task) == 1


@pytest.mark.parametrize("on_error", ["skip", DeadLetter("dlq")], ids=["skip", "dead letter"])
def test_failed_record_is_counted_only_at_source_node(on_error: Any) -> None:
    output = OneTask(chain(Own, Failing, Own, on_error=on_error)).run(queue_of(ROWS))
    assert counted(output) == {
        "in": (4, 1), "n0": (1, 2), "n1": (2, 2), "n2": (2, 4), "out": (4, 4)
    }  # fmt: skip
    assert output.counts["in"].lost == 3


def test_record_forwarded_to_one_child_is_counted_only_there() -> None:
    builder = TopologyBuilder("t")
    both = builder.add_processor("both", Chosen, builder.add_source("in", IN))
    for name in ("left", "right"):
        child = builder.add_processor(name, Own, both)
        builder.add_sink(f"{name}-lines", to_stdout(), child)
    low = builder.branch("b", both, {"low": lambda k, v: v < 2})["low"]
    builder.add_sink("low", OUT, low)
    output = OneTask(builder.build()).run(queue_of(ROWS[:3]))
    assert counted(output) == {
        "in": (3, 3), "both": (3, 6), "left": (6, 12), "right": (3, 6), "left-lines": (12, 12),
        "right-lines": (6, 6), "b": (3, 1), "b.low": (1, 1), "low": (1, 1),
    }  # fmt: skip
    assert output.counts["b"].dropped == {"no-branch": 2}


def test_repartition_counts_sent_and_received_records_separately() -> None:
    builder = TopologyBuilder("t")
    edge = builder.repartition("edge", builder.add_source("in", IN), key=TEXT, value=INT64)
    builder.add_sink("out", OUT, edge)
    topology = builder.build()
    assert counted(OneTask(topology).run(queue_of(ROWS[:3])))["edge"] == (3, 0)
    below = OneTask(topology, group=1).run(queue_of(ROWS[:2], entry="edge"))
    assert counted(below) == {"edge": (0, 2), "out": (2, 2)}


def test_call_skipped_by_interceptor_is_not_counted() -> None:
    task = OneTask(chain(map_values(abs), map_values(abs)), interceptors=[Skipping()])
    output = task.run(queue_of(ROWS[:3]))
    assert counted(output) == {"in": (3, 3), "n0": (3, 2), "n1": (2, 1), "out": (1, 1)}
