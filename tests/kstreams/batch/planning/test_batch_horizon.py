"""Batches of several topics end at a common time, whatever the topics contain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.batch.planning.read_order import read_order
from kstreams.ids import TopicPartition
from tests.kstreams.batch.embedded_planner import groups_of
from tests.kstreams.batch.timed_backlog import Backlog

HOUR = 3_600_000
NOW = 1_790_000_000_000
GROUPS = groups_of("a", "b")
PLACES = [TopicPartition(topic, partition) for topic in "ab" for partition in range(2)]
ORDER = read_order(GROUPS)


def bulk_and_backlog() -> Backlog:
    """Return a table of 100,000 rows, loaded an hour before a stream of 1,000,000 records."""
    rng = np.random.default_rng(1)
    rows = {p: NOW - HOUR + np.sort(rng.integers(0, 60_000, 50_000)) for p in PLACES[:2]}
    events = {p: NOW + np.sort(rng.integers(0, 24 * HOUR, 500_000)) for p in PLACES[2:]}
    return Backlog({**rows, **events})


def bursty() -> Backlog:
    """Return two topics of the same hour, one of them bursty."""
    rng = np.random.default_rng(2)
    bursts = NOW + np.repeat(np.arange(12) * 300_000, 20_000) + rng.integers(0, 9_000, 240_000)
    steady = NOW + np.sort(rng.integers(0, HOUR, 240_000))
    return Backlog({PLACES[0]: np.sort(bursts), PLACES[2]: steady})


@pytest.mark.parametrize("backlog", [bulk_and_backlog, bursty], ids=["bulk", "bursty"])
@pytest.mark.parametrize("most", [50_000, 9_999])
def test_batches_of_several_topics_are_full_and_in_order_of_time(
    backlog: object, most: int
) -> None:
    topics = backlog()  # type: ignore[operator]  # one of the two
    batches = 0
    for portion in topics.batches(topics.portions(GROUPS, most)):
        batches += 1
        assert sum(portion.counts.values()) <= most
        assert topics.drift() == 0
    assert topics.at == topics.ends
    assert batches <= sum(topics.ends.values()) / most * 2
    assert topics.asked <= batches * 4


def test_records_of_equal_time_that_span_batches_are_read_before_later_records() -> None:
    same, later = np.full(100_000, NOW), np.full(5, NOW + 1)
    topics = Backlog({PLACES[0]: [*same, *later], PLACES[2]: [NOW - 1, *same]})
    sizes = []
    for portion in topics.batches(topics.portions(GROUPS, 10_000)):
        sizes.append(sum(portion.counts.values()))
        assert topics.drift() == 0
        if topics.at[PLACES[2]] > 1:  # the second topic is read after the first topic's equal times
            assert topics.at[PLACES[0]] >= 100_000
    assert sizes == [10_000] * 20 + [6]
    assert topics.asked <= 3 * len(sizes)


def test_planner_requests_no_times_for_one_topic_or_if_all_records_fit_in_batch() -> None:
    topics = Backlog({place: range(100) for place in PLACES})
    assert [p.horizon for p in topics.batches(topics.portions(GROUPS, 400))] == [None]
    alone = Backlog({place: range(100) for place in PLACES[:2]})
    assert len(list(alone.batches(alone.portions(groups_of("a"), 50)))) == 4
    assert topics.asked == alone.asked == 0


def test_topic_read_to_its_end_does_not_limit_horizon_of_other_topics() -> None:
    topics = Backlog({PLACES[0]: [5], PLACES[2]: range(1_000)})
    topics.at[PLACES[0]] = 1  # as after a restart when one topic has caught up
    sizes = [sum(p.counts.values()) for p in topics.batches(topics.portions(GROUPS, 100))]
    assert sum(sizes) == 1_000
    assert len(sizes) <= 20


def test_byte_limit_ends_batches_of_all_topics_at_a_common_time() -> None:
    topics = Backlog({place: range(1_000) for place in PLACES})
    portions = topics.portions(GROUPS, 1 << 20, size=float(1 << 20))  # 256 records of 1 MiB
    while (portion := topics.batch(portions)) is not None:
        assert sum(portion.counts.values()) <= 256
        assert topics.drift() == 0


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_consecutive_batches_equal_the_merge_of_all_topics_by_time(data: st.DataObject) -> None:
    times = st.lists(
        st.integers(0, data.draw(st.sampled_from([2, 30, 10**6, 10**12]))), max_size=30
    )
    topics = Backlog({place: data.draw(times) for place in PLACES})
    portions, found, most = topics.portions(GROUPS, data.draw(st.integers(1, 20))), [], 0
    while True:
        before = dict(topics.at)
        if (portion := topics.batch(portions)) is None:
            break
        most = max(most, sum(portion.counts.values()))
        read = [(p, n) for p in PLACES for n in range(before[p], topics.at[p])]
        found += sorted(read, key=lambda each: merged(topics, *each))
        if data.draw(st.booleans()):  # as after a restart
            portions = topics.portions(GROUPS, portions._pace.records)
    assert most <= portions._pace.records
    everything = [(p, n) for p in PLACES for n in range(topics.ends[p])]
    assert found == sorted(everything, key=lambda each: merged(topics, *each))


def merged(topics: Backlog, place: TopicPartition, offset: int) -> tuple[object, ...]:
    return int(topics.highest[place][offset]), ORDER(place), offset
