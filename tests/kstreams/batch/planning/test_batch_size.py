"""Estimates of the number of records that fit a byte limit: proportional, at least one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kstreams.batch.planning.batch_size import RecordSizes, fitting
from kstreams.ids import TopicPartition

COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 10_000), min_size=1)
MEANS = st.fixed_dictionaries({place: st.floats(0.1, 1e7) for place in "abcd"})


@given(COUNTS, MEANS, st.integers(1, 1 << 30), st.integers(0, 9))
def test_selection_of_records_is_within_byte_limit_or_one_record(
    counts: dict[str, int], means: dict[str, float], limit: int, turn: int
) -> None:
    taken = fitting(counts, means, limit, turn=turn)
    assert taken.keys() <= counts.keys()
    assert all(0 < count <= counts[place] for place, count in taken.items())
    size = sum(count * means[place] for place, count in taken.items())
    assert size <= limit * 1.000001 or sum(taken.values()) == 1
    assert taken


@given(COUNTS, MEANS, st.integers(1, 1 << 30))
def test_selection_of_records_above_byte_limit_is_reduced(
    counts: dict[str, int], means: dict[str, float], limit: int
) -> None:
    too_large = sum(count * means[place] for place, count in counts.items()) > limit
    total = sum(counts.values())
    if too_large and total > 1:
        assert sum(fitting(counts, means, limit).values()) < total


def test_reduced_selection_takes_records_of_each_partition_in_proportion() -> None:
    assert fitting({"a": 300, "b": 100}, {"a": 10.0, "b": 10.0}, 400) == {"a": 30, "b": 10}


def test_reduced_selections_alternate_between_partitions_whose_share_is_below_one_record() -> None:
    counts, means = {"a": 1_000, "b": 1, "c": 1}, {"a": 1.0, "b": 90.0, "c": 90.0}
    seen: Counter[str] = Counter()
    for turn in range(4):
        seen.update(fitting(counts, means, 100, turn=turn).keys())
    assert seen["b"] == seen["c"] == 2


def test_mean_record_size_rises_immediately_and_falls_by_half_per_batch() -> None:
    sizes = RecordSizes(lambda _place, _offset: None)
    assert sizes.of(TopicPartition("a", 0), 0) == 1024
    sizes.saw(TopicPartition("a", 0), 10, 100)
    assert sizes.of(TopicPartition("a", 0), 0) == 10
    sizes.saw(TopicPartition("a", 0), 1, 1_000)
    assert sizes.of(TopicPartition("a", 0), 0) == 1_000
    sizes.saw(TopicPartition("a", 0), 10, 0)
    assert sizes.of(TopicPartition("a", 0), 0) == 500
    sizes.saw(TopicPartition("a", 0), 0, 0)
    assert sizes.of(TopicPartition("a", 0), 0) == 500


def test_record_size_of_partition_is_sampled_once_before_first_batch() -> None:
    asked: list[tuple[TopicPartition, int]] = []

    def look(place: TopicPartition, offset: int) -> float:
        asked.append((place, offset))
        return 7.0

    sizes = RecordSizes(look)
    assert [sizes.of(TopicPartition("a", 0), 5), sizes.of(TopicPartition("a", 0), 6)] == [7, 7]
    assert asked == [(TopicPartition("a", 0), 5)]
