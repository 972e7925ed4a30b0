"""Ages of records: measured in workers, extended to the commit by the driver."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.messages.latency import LATENCY_BOUNDS_MS, Ages, Latency, latency_after


def ages(wall_ms: int, times: list[int]) -> Ages:
    return Ages.of(wall_ms, [np.array(times, np.int64)])


def test_record_ages_survive_conversion_to_json() -> None:
    found = ages(1_000, [1_000, 999, 0, 2_000])
    assert sum(found.counts.values()) == 4
    assert found.sum_ms == 1_001
    assert Ages.from_json(found.to_json()) == found


@pytest.mark.parametrize("data", [None, [], [[], -1], [[[1]], 0], [[["a", 1]], 0]])
def test_invalid_record_ages_are_rejected(data: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        Ages.from_json(data)


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(0, 10_000))
def test_bucket_of_record_age_is_within_a_fifth_of_age(spans: list[int], delay: int) -> None:
    wall = 10**12
    found = latency_after([ages(wall, [wall - span for span in spans])], delay)
    assert found.count == len(spans)
    assert found.sum_ms == sum(spans) + delay * len(spans)
    for share in (0.5, 0.99):
        bound = found.quantile_ms(share)
        true = sorted(spans)[max(int(np.ceil(share * len(spans))) - 1, 0)] + delay
        places = {bisect_left(LATENCY_BOUNDS_MS, true * by) for by in (0.83, 1.2)}
        assert bound is not None
        last = len(LATENCY_BOUNDS_MS) - 1
        assert LATENCY_BOUNDS_MS.index(bound) in {min(place, last) for place in places}


def test_batch_without_records_has_no_latency() -> None:
    assert latency_after([], 5).quantile_ms(0.5) is None
    assert Latency() + latency_after([ages(10, [0])], 0) == latency_after([ages(10, [0])], 0)
