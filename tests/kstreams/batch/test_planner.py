"""What the driver plans from embedded topics: exact bounds, shares in proportion, starts."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Embedded, Topic, TopologyBuilder, key_value_store
from kstreams.batch.embedded.feed import EmbeddedFeed
from kstreams.batch.planner import BatchPlanner, share
from kstreams.batch.refusal import Refusal
from kstreams.checkpoint.plans import Plan, PlanDirectory
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import DataLossError, TopicRecreatedError
from kstreams.graph.nodes import Start
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition, parse_keys, text_keys
from kstreams.processors.peek import peek

STORE = key_value_store("store", key=TEXT, value=INT64)


def _groups(*topics: str, start: Start = "earliest") -> tuple[PartitionGroup, ...]:
    builder = TopologyBuilder("planned")
    nodes = [builder.add_source(name, Topic(name, TEXT, TEXT), start=start) for name in topics]
    builder.add_processor("look", peek(print), *nodes, stores=[STORE])
    return builder.build().pipelines()[0]


def _log(path: Path, *topics: str, partitions: int = 2) -> EmbeddedLog:
    log = EmbeddedLog(path, durable=False)
    for topic in topics:
        log.create(topic, partitions)
    return log


def _append(log: EmbeddedLog, topic: str, partition: int, *timestamps: int) -> None:
    table = pa.table(
        {
            "timestamp": pa.array(timestamps, pa.int64()),
            "key": pa.array([b"k"] * len(timestamps), pa.binary()),
            "value": pa.array([b"v"] * len(timestamps), pa.binary()),
        }
    )
    end = log.end_offset(topic, partition)
    log.append(topic, partition, table, producer=f"{topic}/{partition}", batch=end)


def _planner(
    log: EmbeddedLog,
    groups: tuple[PartitionGroup, ...],
    most: int = 100,
    max_bytes: int = 1 << 28,
    **positions: int,
) -> BatchPlanner:
    known = {name.replace("__", "/"): offset for name, offset in positions.items()}
    path = log.root.parent / f"{log.root.name}-plans"
    plans = PlanDirectory(path / f"of-{uuid4().hex}")
    return _on(log, groups, plans, most, max_bytes, **known)


def _on(
    log: EmbeddedLog,
    groups: tuple[PartitionGroup, ...],
    plans: PlanDirectory,
    most: int = 100,
    max_bytes: int = 1 << 28,
    **known: int,
) -> BatchPlanner:
    feed = EmbeddedFeed(Embedded(log.root, durable=False))
    newest = plans.newest() or Plan({}, parse_keys(TopicPartition, known))  # as a query goes on
    return BatchPlanner(
        feed,
        groups,
        max_records=most,
        max_bytes=max_bytes,
        plans=plans,
        positions=newest.positions,
        topics=newest.topics,
    )


def _read(plan: Plan | None) -> list[tuple[int, str, int, int, int]]:
    assert plan is not None
    return [
        (task, s.topic, s.partition, s.from_offset, s.to_offset)
        for (_, task), slices in plan.tasks.items()
        for s in slices
    ]


def test_each_offset_is_planned_once_and_in_order(tmp_path: Path) -> None:
    log = _log(tmp_path, "a")
    for _ in range(3):
        _append(log, "a", 0, *range(7))
        _append(log, "a", 1, 1)
    planner = _planner(log, _groups("a"), most=4)
    seen: dict[int, list[int]] = {0: [], 1: []}
    while (plan := planner.next()) is not None:
        assert plan.record_count <= 4
        for task, _, partition, low, high in _read(plan):
            assert task == partition
            assert low < high
            seen[partition] += range(low, high)
        assert plan.positions == planner.positions
    assert seen == {0: list(range(21)), 1: list(range(3))}


def test_topics_are_asked_when_what_is_known_gives_no_full_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(100))
    planner = _planner(log, _groups("a"), most=30)
    ends: list[dict[TopicPartition, int]] = []
    ask = planner.end

    def asked() -> dict[TopicPartition, int]:
        ends.append(ask())
        return ends[-1]

    monkeypatch.setattr(planner, "end", asked)
    for _ in range(3):
        planner.next()
    assert ends == [{TopicPartition("a", 0): 100}]
    _append(log, "a", 0, *range(5))
    assert _read(planner.next()) == [(0, "a", 0, 90, 100), (0, "a", 0, 100, 105)]
    assert planner.next() is None
    assert ends[1:] == [{TopicPartition("a", 0): 105}] * 2


def test_parts_of_segments_are_read(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    _append(log, "a", 0, *range(5))
    planner = _planner(log, _groups("a"), most=3)
    assert _read(planner.next()) == [(0, "a", 0, 0, 3)]
    assert _read(planner.next()) == [(0, "a", 0, 3, 5), (0, "a", 0, 5, 6)]
    assert _read(planner.next()) == [(0, "a", 0, 6, 9)]
    assert _read(planner.next()) == [(0, "a", 0, 9, 10)]
    assert planner.next() is None


def test_planning_goes_on_at_the_positions_given(tmp_path: Path) -> None:
    log = _log(tmp_path, "a")
    _append(log, "a", 0, *range(5))
    _append(log, "a", 1, *range(5))
    assert _read(_planner(log, _groups("a"), a__0=4).next()) == [
        (0, "a", 0, 4, 5),
        (1, "a", 1, 0, 5),
    ]


def test_until_is_an_exact_bound(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    planner = _planner(log, _groups("a"))
    end = planner.end()
    _append(log, "a", 0, *range(5))
    assert _read(planner.next(until=end)) == [(0, "a", 0, 0, 5)]
    assert planner.next(until=end) is None
    assert planner.reached(end)
    assert not planner.reached(planner.end())


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("earliest", 0),
        ("latest", 6),
        (datetime.fromtimestamp(3, timezone.utc), 3),
        (datetime.fromtimestamp(0, timezone.utc), 0),
        (datetime.fromtimestamp(99, timezone.utc), 6),
    ],
    ids=["earliest", "latest", "time", "time before all", "time after all"],
)
def test_sources_begin_where_they_say(tmp_path: Path, start: Start, first: int) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *(n * 1_000 for n in range(4)))
    _append(log, "a", 0, 4_000, 5_000)
    planner = _planner(log, _groups("a", start=start))
    assert planner.positions == {TopicPartition("a", 0): first}
    kept = _planner(log, _groups("a", start=start), a__0=2)
    assert kept.positions == {TopicPartition("a", 0): 2}


def test_a_query_begins_where_it_was_first_decided(tmp_path: Path) -> None:
    log, plans = _log(tmp_path / "topics", "a", partitions=2), PlanDirectory(tmp_path / "plans")
    _append(log, "a", 0, *range(5))
    first = _on(log, _groups("a", start="latest"), plans)
    _append(log, "a", 0, *range(5))
    again = _on(log, _groups("a", start="latest"), plans)
    assert text_keys(first.positions) == text_keys(again.positions) == {"a/0": 5, "a/1": 0}
    plan = again.next()
    assert plan is not None
    plans.write(0, plan)
    later = _on(log, _groups("a", start="latest"), plans, **{"a/0": 1})
    assert later.positions == {TopicPartition("a", 0): 10, TopicPartition("a", 1): 0}


def test_only_places_of_its_own_sources_count(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    planner = _planner(log, _groups("a"), gone__0=7, a__0=2)
    assert planner.positions == {TopicPartition("a", 0): 2}
    assert _read(planner.next()) == [(0, "a", 0, 2, 5)]


def test_topics_of_a_group_share_a_batch(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", "b")
    _append(log, "a", 0, *range(100))
    _append(log, "b", 1, *range(100))
    assert _read(_planner(log, _groups("a", "b"), most=10).next()) == [
        (0, "a", 0, 0, 5),
        (1, "b", 1, 0, 5),
    ]


@pytest.mark.parametrize("length", [0, 3, 50], ids=["empty", "shorter", "longer"])
@pytest.mark.parametrize("partitions", [1, 2])
def test_a_topic_created_again_while_running_is_told_whatever_its_length(
    tmp_path: Path, length: int, partitions: int
) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    planner = _planner(log, _groups("a"))
    planner.next()
    expected, found = _created_again(log, length, partitions)
    with pytest.raises(TopicRecreatedError, match="deleted and created again") as caught:
        planner.next()
    where = caught.value.where
    assert (where.topic, where.partition, where.offset) == ("a", 0, 5)
    assert (caught.value.expected, caught.value.found) == (expected, found)
    assert "kstreams reset" in caught.value.hint
    assert "kstreams state fork" in caught.value.hint


@pytest.mark.parametrize("length", [0, 50], ids=["empty", "longer"])
def test_a_topic_created_again_while_stopped_is_told_at_the_start(
    tmp_path: Path, length: int
) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    plans = PlanDirectory(tmp_path.parent / f"{tmp_path.name}-plans")
    plan = _on(log, _groups("a"), plans).next()
    assert plan is not None
    plans.write(0, plan)
    _created_again(log, length)
    with pytest.raises(TopicRecreatedError):
        _on(log, _groups("a"), plans)


def test_where_a_query_was_to_begin_belongs_to_its_topic(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(5))
    plans = PlanDirectory(tmp_path.parent / f"{tmp_path.name}-plans")
    _on(log, _groups("a", start="latest"), plans)
    _created_again(log, 50)
    with pytest.raises(TopicRecreatedError):
        _on(log, _groups("a", start="latest"), plans)


def test_a_commit_knows_its_topics_where_there_is_no_plan(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(50))
    feed, plans = EmbeddedFeed(Embedded(tmp_path, durable=False)), PlanDirectory(tmp_path / ".p")
    with pytest.raises(TopicRecreatedError):
        BatchPlanner(
            feed,
            _groups("a"),
            max_records=9,
            max_bytes=1 << 28,
            plans=plans,
            positions={TopicPartition("a", 0): 5},
            topics={"a": "another"},
        )


def test_positions_of_earlier_versions_take_over_the_present_topic(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(50))
    planner = _planner(log, _groups("a"), a__0=5)
    plan = planner.next()
    assert plan is not None
    assert plan.topics == {"a": log.topic("a").incarnation}


def test_a_topic_created_again_before_it_was_read_is_read(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    planner = _planner(log, _groups("a"))
    assert planner.next() is None
    _created_again(log, 3)
    assert _read(planner.next()) == [(0, "a", 0, 0, 3)]


def test_a_long_backlog_is_interrupted_to_look_at_its_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append(log, "a", 0, *range(50))
    planner = _planner(log, _groups("a"), most=5)
    planner.next()
    _created_again(log, 60)
    assert _read(planner.next()) == [(0, "a", 0, 5, 10)]
    monkeypatch.setattr("kstreams.batch.planner._ASK_AGAIN_S", 0.0)
    with pytest.raises(TopicRecreatedError):
        planner.next()


def _created_again(log: EmbeddedLog, length: int, partitions: int = 1) -> tuple[str, str]:
    """Delete topic `a` and create it with so many records; return the ids of both."""
    before = log.topic("a").incarnation
    log.delete("a")
    after = log.create("a", partitions).incarnation
    if length:
        _append(log, "a", 0, *range(length))
    return before, after


def test_a_removed_segment_is_a_loss_that_is_told(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    for _ in range(3):
        _append(log, "a", 0, *range(5))
    middle = log.segments("a", 0)[1].name
    shutil.move(tmp_path / "a" / "0" / middle, tmp_path / "gone")
    with pytest.raises(DataLossError):
        _planner(EmbeddedLog(tmp_path, durable=False), _groups("a")).next()


_LAGS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 1_000), max_size=8)


@given(lags=_LAGS, total=st.integers(1, 2_000))
def test_a_share_is_in_proportion_and_never_too_much(lags: dict[str, int], total: int) -> None:
    shares = share(lags, total)
    assert shares.keys() == lags.keys()
    assert all(1 <= shares[place] <= lags[place] for place in lags)
    behind = sum(lags.values())
    if behind <= total:
        assert shares == lags
        return
    assert total - len(lags) <= sum(shares.values()) <= total + len(lags)
    assert all(abs(shares[place] - lags[place] * total / behind) <= 1 for place in lags)


def _append_sized(log: EmbeddedLog, topic: str, partition: int, *sizes: int) -> None:
    count = len(sizes)
    table = pa.table(
        {
            "timestamp": pa.array([1] * count, pa.int64()),
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array([bytes(size) for size in sizes], pa.binary()),
        }
    )
    end = log.end_offset(topic, partition)
    log.append(topic, partition, table, producer=f"{topic}/{partition}", batch=end)


def test_the_first_batch_is_bounded_by_the_sizes_in_segments(tmp_path: Path) -> None:
    log = _log(tmp_path, "a")
    for partition in range(2):
        _append_sized(log, "a", partition, *[10_000] * 50)
    planner = _planner(log, _groups("a"), max_bytes=205_000)
    assert _read(planner.next()) == [(0, "a", 0, 0, 10), (1, "a", 1, 0, 10)]


def test_later_batches_are_bounded_by_what_was_read(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", partitions=1)
    _append_sized(log, "a", 0, *[10] * 100)
    planner = _planner(log, _groups("a"), max_bytes=10_000)
    planner.saw({TopicPartition("a", 0): (10, 10_000)})
    assert _read(planner.next()) == [(0, "a", 0, 0, 10)]


def test_a_refused_batch_is_cut_and_positions_follow(tmp_path: Path) -> None:
    log, plans = _log(tmp_path / "topics", "a", "b", partitions=2), PlanDirectory(tmp_path / "p")
    for topic in "ab":
        for partition in range(2):
            _append(log, topic, partition, *range(40))
            _append(log, topic, partition, *range(40))
    planner = _on(log, _groups("a", "b"), plans, most=1_000, max_bytes=10_000)
    plan = planner.next()
    assert plan is not None
    assert plan.record_count == 320
    sizes = {TopicPartition("a", 0): (80, 40_000), TopicPartition("b", 0): (0, 0)}
    cut = planner.cut(plan, [Refusal(((0, 0),), sizes), Refusal(())])
    assert _read(cut) == [
        (0, "a", 0, 0, 19),
        (0, "b", 0, 0, 19),
        (1, "a", 1, 0, 40),
        (1, "a", 1, 40, 80),
        (1, "b", 1, 0, 40),
        (1, "b", 1, 40, 80),
    ]
    assert cut.cuts == {(0, 0): 1}
    assert text_keys(cut.positions) == {"a/0": 19, "a/1": 80, "b/0": 19, "b/1": 80}
    assert planner.positions == cut.positions
    plans.write(0, plan)
    plans.replace(0, cut)
    assert _on(log, _groups("a", "b"), plans).positions == cut.positions


def test_a_batch_is_cut_down_to_one_record_and_no_further(tmp_path: Path) -> None:
    log = _log(tmp_path, "a", "b", partitions=1)
    _append(log, "a", 0, *range(3))
    _append(log, "b", 0, *range(3))
    planner = _planner(log, _groups("a", "b"), max_bytes=1_000)
    plan, revision = planner.next(), 0
    while plan is not None and plan.record_count > 1:
        sizes = {TopicPartition("a", 0): (1, 5_000_000), TopicPartition("b", 0): (1, 5_000_000)}
        plan = planner.cut(plan, [Refusal(((0, 0),), sizes)])
        revision += 1
        assert plan.revision == revision
    assert plan is not None
    assert plan.record_count == 1
    assert sum(plan.positions.values()) == 1
