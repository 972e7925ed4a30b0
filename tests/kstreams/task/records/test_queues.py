"""The order of a batch's records."""

from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kstreams.task.records.queues import merged_order
from tests.support.apps.one_task import queue_of


@given(st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=4))
def test_queue_with_earliest_first_record_is_next(queues: list[list[int]]) -> None:
    heap = [(times[0], number, 0) for number, times in enumerate(queues) if times]
    heapq.heapify(heap)
    expected = []
    while heap:
        _, number, row = heapq.heappop(heap)
        expected.append((number, row))
        if row + 1 < len(queues[number]):
            heapq.heappush(heap, (queues[number][row + 1], number, row + 1))
    numbers, rows = merged_order([np.array(times, np.int64) for times in queues])
    assert list(zip(numbers.tolist(), rows.tolist(), strict=True)) == expected


def test_queue_since_an_offset_has_only_later_records_and_accepts_offset_gaps() -> None:
    queue = queue_of([("a", n, 0) for n in range(4)], offsets=[3, 7, 8, 20])
    assert queue.since(0) is queue
    assert queue.since(3) is queue
    assert queue.since(5).table.column("offset").to_pylist() == [7, 8, 20]
    assert queue.since(21).table.num_rows == 0
    assert queue_of([]).since(9).table.num_rows == 0
