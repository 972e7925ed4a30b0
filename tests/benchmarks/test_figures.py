"""The part of a run that is timed."""

from __future__ import annotations

import pytest

from benchmarks.suite.figures import end_of, span_of
from benchmarks.suite.process_tree import Sample, cpu_between
from tests.benchmarks.sample_outcomes import figures


def test_timed_span_starts_after_warm_up_and_ends_with_last_result() -> None:
    span = span_of([(1.0, 50), (2.0, 120), (4.0, 700), (6.0, 1000)], 1000, 7.0)
    assert (span.start, span.end, span.records) == (2.0, 7.0, 880)
    assert span.rate == 176


def test_end_of_run_ignores_results_that_were_released_by_clock() -> None:
    points = [(1.0, 50), (6.0, 1000), (6.5, 1000)]
    assert end_of(points, 1000, 7.0, by_clock=False) == 7.0
    assert end_of(points, 1000, 5.0, by_clock=False) == 6.0
    assert end_of(points, 1000, 16.0, by_clock=True) == 6.0
    assert end_of(points[:1], 1000, 7.0, by_clock=True) == 7.0  # progress was not reported


def test_run_of_single_batch_has_no_rate() -> None:
    with pytest.raises(ValueError, match="all results came at once"):
        span_of([(1.0, 1000)], 1000, 1.0)


@pytest.mark.parametrize(
    ("rate", "records", "enough"),
    [
        (400_000.0, 1_200_000, True),
        (400_000.0, 1_000_000, False),
        (1_200.0, 30_000, True),
        (1_500.0, 30_000, False),
    ],
)
def test_run_is_long_enough_by_duration_or_by_number_of_records(
    rate: float, records: int, enough: bool
) -> None:
    assert figures(rate, records).long_enough is enough


def test_processor_time_is_interpolated_between_samples() -> None:
    samples = [Sample(0.0, 0.0, 0), Sample(10.0, 5.0, 0), Sample(20.0, 25.0, 0)]
    assert cpu_between(samples, 5.0, 15.0) == pytest.approx(12.5)
    assert cpu_between(samples, 15.0, 99.0) == pytest.approx(10.0)
    assert cpu_between([], 0.0, 1.0) == 0
