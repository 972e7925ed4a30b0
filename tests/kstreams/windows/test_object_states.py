"""Windows by columns with states of Python objects: texts, and values combined by a function."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.aggregators import max_, min_, over, reducing
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close, once_per_batch
from kstreams.errors import ProcessingError, SerializationError, TopologyError
from kstreams.windows import HoppingWindows, TumblingWindows, UnlimitedWindows
from kstreams_json import json_serde
from tests.support.windows.compared_executions import EMISSIONS, by_turns, cuts_of, rows_of
from tests.support.windows.windowed_runs import Row, run

WINDOWS = TumblingWindows(milliseconds(10))
KINDS = (
    TumblingWindows(milliseconds(7), grace=milliseconds(3)),
    HoppingWindows(milliseconds(9), milliseconds(2), grace=milliseconds(5)),
    UnlimitedWindows(),
)


def one_after_the_other(earlier: str, later: str) -> str:
    return f"{earlier},{later}"


def difference(earlier: int, later: int) -> int:
    """Combine values so that the result shows their order; not associative, on purpose."""
    return later - 2 * earlier


PAIR = json_serde(tuple[int, str])
Pair = tuple[int, str]


def pair_of(value: int) -> Pair:
    return value, str(value)


def met(earlier: Pair, later: Pair) -> Pair:
    return earlier[0] - later[0], f"{earlier[1]},{later[1]}"


AGGREGATORS: dict[str, Any] = {
    "pairs-in-order": over(pair_of, reducing(met, PAIR)),
    "text-in-order": over(str, reducing(one_after_the_other, TEXT)),
    "numbers-in-order": reducing(difference, INT64),
    "greatest-text": over(str, max_(TEXT)),
    "least-text": over(str, min_(TEXT)),
}


@settings(max_examples=60)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(sorted(AGGREGATORS)),
    st.sampled_from(EMISSIONS),
    rows_of,
    st.data(),
)
def test_columns_of_objects_and_records_give_same_results(
    windows: Any, how: str, emit: Any, rows: list[Row], data: st.DataObject
) -> None:
    aggregator, cuts = AGGREGATORS[how], cuts_of(data, len(rows))
    by_records = run(windows, emit, rows, cuts, aggregator, "records")
    by_columns = run(windows, emit, rows, cuts, aggregator, "columns")
    assert by_columns[:2] == by_records[:2]
    assert by_columns[2] <= by_records[2], "a store has more of it"


def text_of(value: int) -> str:
    if value == 13:
        raise ValueError("unlucky")
    return str(value)


def refusing(earlier: str, later: str) -> str:
    if later == "7":
        raise ValueError("no more")
    return earlier + later


@pytest.mark.parametrize("emit", [each_update(), once_per_batch()], ids=["each", "batch"])
@pytest.mark.parametrize(
    ("rows", "cuts"),
    [
        ([("a", 1, 0), ("b", 2, 1), ("a", 13, 2)], []),
        ([("b", 1, 0), ("a", 1, 1), ("a", 7, 2), ("a", 2, 3)], []),
        ([("a", 1, 0), ("b", 1, 1), ("b", 2, 2), ("a", 7, 3)], [2]),
    ],
    ids=["part", "same-batch", "stored"],
)
def test_failing_function_names_its_record(emit: Any, rows: list[Row], cuts: list[int]) -> None:
    aggregator = over(text_of, reducing(refusing, TEXT))
    places = []
    for execution in ("records", "columns"):
        with pytest.raises(ProcessingError, match=r"unlucky|no more") as caught:
            run(WINDOWS, emit, rows, cuts, aggregator, execution)
        where = caught.value.where
        places.append((where.topic, where.offset, where.key, where.timestamp))
    assert places[0] == places[1]


def test_function_is_not_called_for_late_records() -> None:
    aggregator = over(text_of, reducing(one_after_the_other, TEXT))
    rows = [("a", 1, 50), ("a", 13, 0), ("a", 2, 51)]
    found = run(WINDOWS, on_close(), [*rows, ("a", 0, 90)], [], aggregator, "columns")
    assert [value for _, value, _ in found[0][0]] == ["1,2"]


def test_state_rejected_by_store_serde_raises() -> None:
    wrong: Any = over(bool, reducing(one_after_the_other, TEXT))
    for execution in ("records", "columns"):
        with pytest.raises(SerializationError):
            run(WINDOWS, once_per_batch(), [("a", 1, 0)], [], wrong, execution)


def test_mutable_values_are_aggregated_by_records() -> None:
    def joined(earlier: list[int], later: list[int]) -> list[int]:
        earlier.extend(later)
        return earlier

    aggregator: Any = over(lambda value: [value], reducing(joined, json_serde(list[int])))
    rows = [("a", 1, 0), ("a", 2, 1)]
    with pytest.raises(TopologyError, match="has no column form for values"):
        run(WINDOWS, once_per_batch(), rows, [], aggregator, "columns")
    found = run(WINDOWS, once_per_batch(), rows, [], aggregator, "auto")
    assert [value for _, value, _ in found[0][0]] == [[1, 2]]


@pytest.mark.parametrize("how", ["text-in-order", "pairs-in-order"])
def test_each_execution_continues_from_state_of_the_other(how: str) -> None:
    aggregator, emit = AGGREGATORS[how], once_per_batch()
    batches = [[("a", 1, 0), ("b", 2, 1)], [("a", 3, 2)], [("b", 4, 3), ("a", 5, 30)]]
    by_records = by_turns(WINDOWS, emit, batches, ("records",), aggregator)
    assert by_turns(WINDOWS, emit, batches, ("records", "columns"), aggregator) == by_records
    assert by_turns(WINDOWS, emit, batches, ("columns", "records"), aggregator) == by_records
