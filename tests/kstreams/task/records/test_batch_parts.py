"""A batch too large for columns is processed in parts, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder, map_values
from kstreams.processors import BatchProcessor
from kstreams.task import buffer
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records import parts
from kstreams.task.records.queues import Queue, merged_order
from tests.support.apps.one_task import OneTask, queue_of

ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 50)),
    min_size=1,
    max_size=60,
)


class Same(BatchProcessor[Any, Any, Any, Any]):
    """Forwards each table."""

    def process_batch(self, table: pa.Table) -> None:
        self.context.forward(table)


def build(node: Callable[[], Any]) -> Topology:
    """Return a topology: two sources -> node -> `out`."""
    builder = TopologyBuilder("t")
    sources = [builder.add_source(name, Topic(name, TEXT, INT64)) for name in ("in", "more")]
    processor = builder.add_processor("node", node, *sources)
    builder.add_sink("out", Topic("out", TEXT, INT64), processor)
    return builder.build()


TOPOLOGIES = {"records": build(map_values(lambda value: value + 1)), "tables": build(Same)}


def rows_of(output: TaskOutput) -> list[Any]:
    table = output.sinks["out"]
    return [tuple(row.values()) for row in table.select(["key", "value", "timestamp"]).to_pylist()]


@pytest.mark.parametrize("kind", sorted(TOPOLOGIES))
@given(first=ROWS, second=ROWS, most=st.integers(1, 2_000))
def test_batch_parts_give_same_results_as_whole_batch(
    kind: str, first: Any, second: Any, most: int
) -> None:
    rising = [sorted(rows, key=lambda row: row[2]) for rows in (first, second)]
    queues = [queue_of(rising[0]), queue_of(rising[1], entry="more")]
    whole = OneTask(TOPOLOGIES[kind]).run(*queues)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_MOST_BYTES", most)
        patch.setattr(parts, "_MOST_ROWS", 20)
        patch.setattr(buffer, "_MOST_BYTES", most)
        divided = OneTask(TOPOLOGIES[kind]).run(*queues)
    assert rows_of(divided) == rows_of(whole)
    assert divided.records_in == whole.records_in


@given(first=ROWS, second=ROWS, most=st.integers(1, 2_000))
def test_batch_parts_contain_all_rows_in_merged_order(first: Any, second: Any, most: int) -> None:
    queues = [queue_of(first), queue_of(second, entry="more")]
    times = [queue.table.column("timestamp").to_numpy() for queue in queues]
    order = [(queues[n].entry, int(row)) for n, row in zip(*merged_order(times), strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_MOST_BYTES", most)
        found = list(parts.parts(queues))
    places = [
        sorted((queue.entry, offset) for queue in part for offset in _offsets(queue))
        for part in found
    ]
    begin = 0
    for place in places:
        assert place == sorted(order[begin : begin + len(place)])
        begin += len(place)
    assert begin == len(order)
    for part in found:
        size, rows = (sum(queue.table.nbytes for queue in part), sum(map(_rows, part)))
        ends = 8 * rows + 100  # the limit does not count where keys and values end
        assert size <= most + ends or rows == 1 or most < 100


def _rows(queue: Queue) -> int:
    return int(queue.table.num_rows)


def _offsets(queue: Queue) -> list[int]:
    return [int(offset) for offset in queue.table.column("offset").to_pylist()]


def test_small_batch_is_one_part() -> None:
    queues = [queue_of([("a", 1, 1)]), queue_of([("b", 1, 1)], entry="more")]
    (found,) = parts.parts(queues)
    assert found is queues


@pytest.mark.long
@pytest.mark.slow
def test_queue_with_more_than_2_gib_of_values_is_processed() -> None:
    builder = TopologyBuilder("t")
    source = builder.add_source("in", Topic("in", TEXT, BYTES))
    sizes = builder.add_processor("sizes", map_values(len), source)
    builder.add_sink("out", Topic("out", TEXT, INT64), sizes)
    chunks = [queue_of([("k", bytes(50 << 20), 1)]).table.column("value").chunk(0)] * 46
    count = len(chunks)
    table = queue_of([("k", b"", n) for n in range(count)]).table
    value = table.schema.get_field_index("value")
    table = table.set_column(value, table.schema.field(value), pa.chunked_array(chunks))
    assert table.nbytes > 1 << 31
    output = OneTask(builder.build()).run(Queue("in", "in", 0, table))
    assert output.sinks["out"].num_rows == count
