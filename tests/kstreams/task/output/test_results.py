"""Collected results for a sink that is not a topic."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kstreams import Record
from kstreams.errors import SerializationError
from kstreams.task.output.results import ResultCollector


def table(*pairs: tuple[str, int]) -> pa.Table:
    keys, values = zip(*pairs, strict=True)
    return pa.table({"key": keys, "value": values, "timestamp": [7] * len(pairs)})


def filled() -> ResultCollector:
    collector = ResultCollector("out")
    collector.take(Record("a", 1, 5))
    collector.take_table(table(("b", 2), ("c", 3)))
    collector.take(Record("d", 4, 6))
    return collector


def test_collected_records_and_tables_keep_order_in_which_they_were_forwarded() -> None:
    found = filled().drain()
    assert found is not None
    assert len(found) == 4
    assert [(r.key, r.value, r.timestamp) for r in found.records()] == [
        ("a", 1, 5),
        ("b", 2, 7),
        ("c", 3, 7),
        ("d", 4, 6),
    ]
    columns = found.columns()
    assert columns.column_names == ["key", "value", "timestamp", "headers"]
    assert columns.column("value").to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("mark", range(5))
def test_result_collector_cut_drops_results_taken_after_call_of_mark(mark: int) -> None:
    collector = filled()
    assert collector.mark() == 4
    collector.cut(mark)
    assert collector.mark() == mark
    collector.take(Record("e", 5, 8))
    found = collector.drain()
    assert found is not None
    assert [r.value for r in found.records()] == [*[1, 2, 3, 4][:mark], 5]


def test_drain_empties_result_collector() -> None:
    collector = filled()
    collector.drain()
    assert (collector.mark(), collector.drain()) == (0, None)


def test_result_table_without_required_columns_is_rejected() -> None:
    with pytest.raises(SerializationError, match="cannot be read") as caught:
        ResultCollector("out").take_table(pa.table({"key": ["a"]}))
    assert caught.value.where.node == "out"
