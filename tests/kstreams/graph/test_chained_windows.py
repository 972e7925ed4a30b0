"""Windows of windowed results lose none of them, or the build warns."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, map_values, rekey
from kstreams.aggregators import count
from kstreams.durations import forever, minutes, seconds
from kstreams.emit import (
    at_most_every,
    each_update,
    every,
    on_close,
    once_per_batch,
    suppress,
    until_time_limit,
    until_window_closes,
)
from kstreams.errors import LateResultsWarning
from kstreams.io import Fnv1aPartitioner, Partitioner
from kstreams.operators import columns
from kstreams.serde import Serde
from kstreams.state.stores.window.kind import window_store
from kstreams.stores import buffer_store
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import (
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)
from kstreams_json import json_serde
from tests.kstreams.streams.shop import line

TEXTS = Topic("texts", key=TEXT, value=TEXT)
MINUTE = TumblingWindows(minutes(1))
MINUTES = TumblingWindows(minutes(5))
BY_MINUTE = windowed(TEXT, MINUTE)
BY_BOTH = Topic("out", key=windowed(BY_MINUTE, MINUTES), value=INT64)
BY_TEXT = Topic("out", key=windowed(TEXT, MINUTES), value=INT64)


def counting(windows: Any, name: str, key: Any, emit: Any) -> Any:
    """Return the supplier of counts by windows."""
    store = window_store(name, key=key, value=INT64)
    return windowed_aggregate(windows, count(), store=store, emit=emit)


def chained(
    emit: Any, *, windows: Any = MINUTES, edge: str = "", changes_key: bool = False
) -> tuple[Topology, list[LateResultsWarning]]:
    """Return a topology of windows of windowed results, and the warnings of its build.

    Args:
        emit: The emission of the first windows.
        windows: The second windows.
        edge: `same` for an edge with the default partition count, `other` for another count.
        changes_key: Whether a node changes the key between the windows.
    """
    builder: Any = TopologyBuilder("chained")
    key: Any = TEXT if changes_key else BY_MINUTE
    node = builder.add_source("texts", TEXTS)
    node = builder.add_processor("first", counting(MINUTE, "one", TEXT, emit), node)
    node = builder.add_processor("same", map_values(lambda number: number), node)
    if changes_key:
        node = builder.add_processor("moved", rekey(lambda window, _: "all"), node)
    if edge:
        partitions = 3 if edge == "other" else None
        node = builder.repartition("edge", node, key=key, value=INT64, partitions=partitions)
    node = builder.add_processor("second", counting(windows, "two", key, on_close()), node)
    builder.add_sink("out", Topic("out", windowed(key, windows), INT64), node)
    found = warnings_of(builder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LateResultsWarning)
        return builder.build(), found


@pytest.mark.parametrize(
    ("emit", "warns"),
    [
        (each_update(), False),
        (once_per_batch(), True),
        (on_close(), True),
        (every(seconds(10)), True),
        (at_most_every(seconds(10)), True),
    ],
)
def test_windows_of_results_in_one_task_warn_unless_each_update_is_forwarded(
    emit: Any, *, warns: bool
) -> None:
    topology, found = chained(emit)
    shown = "late: stream time is ahead of the results of 'first', which may be late"
    assert (shown in topology.describe()) == warns
    assert [(each.node, each.above, each.same_task) for each in found] == (
        [("second", "first", True)] if warns else []
    )
    assert all("Hint: put builder.repartition(...) between" in str(each) for each in found)


@pytest.mark.parametrize(
    ("edge", "changes_key", "emit", "shown"),
    [
        ("same", False, on_close(), False),
        ("other", False, on_close(), True),
        ("same", True, on_close(), True),
        ("same", True, once_per_batch(), False),
    ],
)
def test_windows_that_combine_final_results_of_several_partitions_warn_of_late_results(
    edge: str, emit: Any, *, changes_key: bool, shown: bool
) -> None:
    topology, found = chained(emit, edge=edge, changes_key=changes_key)
    text = "late: results of slower partitions of 'first' may be late"
    assert (text in topology.describe()) == shown
    assert [each.same_task for each in found] == ([False] if shown else [])
    assert all("Hint: give the node a grace of the longest delay" in str(e) for e in found)


def rekeyed(
    function: Callable[[Any, Any], Any],
    *,
    serde: Serde[Any] = TEXT,
    partitioner: Partitioner | None = None,
    source: Topic[Any, Any] = TEXTS,
) -> list[LateResultsWarning]:
    """Return the warnings of windows downstream of final results with new keys.

    Args:
        function: Returns the new keys.
        serde: The key serde of the edge.
        partitioner: The partitioner of the edge.
        source: The topic above the first windows.
    """
    builder: Any = TopologyBuilder("rekeyed")
    node = builder.add_source("texts", source)
    node = builder.add_processor("first", counting(MINUTE, "one", TEXT, on_close()), node)
    node = builder.add_processor("moved", rekey(function), node)
    node = builder.repartition("edge", node, key=serde, value=INT64, partitioner=partitioner)
    node = builder.add_processor("second", counting(MINUTES, "two", serde, on_close()), node)
    builder.add_sink("out", Topic("out", windowed(serde, MINUTES), INT64), node)
    return warnings_of(builder)


def warnings_of(builder: Any) -> list[LateResultsWarning]:
    """Build a topology, and return its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.build()
    return [each.message for each in caught]  # type: ignore[misc]


def key_without_window(window: Windowed[str], _: int) -> str:
    return window.key


KEPT: dict[str, tuple[Callable[[Any, Any], Any], Serde[Any]]] = {
    "inner key": (lambda window, _: window.key, TEXT),
    "inner key by def": (key_without_window, TEXT),
    "inner key by columns": (columns(lambda window, _: window.key), TEXT),
    "same key": (lambda window, _: window, BY_MINUTE),
}
CHANGED: dict[str, Callable[[Any, Any], Any]] = {
    "part of key": lambda window, _: window.key[:1],
    "key of value": lambda _, value: value.key,
    "other field": lambda window, _: window.start_ms,
    "constant": lambda _, __: "all",
    "value": lambda _, value: value,
    "computed": columns(lambda window, _: window.start_ms + 1),
}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_new_keys_that_keep_the_partition_of_final_results_do_not_warn(name: str) -> None:
    function, serde = KEPT[name]
    assert rekeyed(function, serde=serde) == []


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_new_keys_that_may_change_the_partition_of_final_results_warn(name: str) -> None:
    assert [each.same_task for each in rekeyed(CHANGED[name])] == [False]


def test_kept_keys_warn_if_the_edge_has_another_format_or_partitioner_than_the_source() -> None:
    inner, _ = KEPT["inner key"]
    assert [each.same_task for each in rekeyed(inner, serde=json_serde(str))] == [False]
    assert [each.same_task for each in rekeyed(inner, partitioner=Fnv1aPartitioner())] == [False]
    hashed = Topic("texts", TEXT, TEXT, partitioner=Fnv1aPartitioner())
    assert [each.same_task for each in rekeyed(inner, source=hashed)] == [False]
    assert rekeyed(inner, source=hashed, partitioner=Fnv1aPartitioner()) == []


def suppressed(until: Any, *, edge: bool, key: Serde[Any] = BY_MINUTE) -> list[LateResultsWarning]:
    """Return the warnings of windows after `suppress` and an aggregation with all updates."""
    builder: Any = TopologyBuilder("suppressed")
    node = builder.add_source("texts", TEXTS)
    node = builder.add_processor("first", counting(MINUTE, "one", TEXT, each_update()), node)
    held = buffer_store("held", key=BY_MINUTE, value=INT64)
    node = builder.add_processor("final", suppress(until, store=held), node)
    if key is not BY_MINUTE:
        node = builder.add_processor("moved", rekey(lambda window, _: "all"), node)
    if edge:
        node = builder.repartition("edge", node, key=key, value=INT64)
    node = builder.add_processor("second", counting(MINUTES, "two", key, on_close()), node)
    builder.add_sink("out", Topic("out", windowed(key, MINUTES), INT64), node)
    return warnings_of(builder)


@pytest.mark.parametrize(
    "until", [until_window_closes(MINUTE), until_time_limit(minutes(1))], ids=["closes", "limit"]
)
def test_suppressed_results_in_one_task_warn_as_delayed_results(until: Any) -> None:
    assert [(each.above, each.same_task) for each in suppressed(until, edge=False)] == [
        ("final", True)
    ]
    assert suppressed(until, edge=True) == []


def test_suppressed_final_results_of_several_partitions_warn_at_the_node_that_combines_them() -> (
    None
):
    found = suppressed(until_window_closes(MINUTE), edge=True, key=TEXT)
    assert [(each.above, each.same_task) for each in found] == [("final", False)]
    assert suppressed(until_time_limit(minutes(1)), edge=True, key=TEXT) == []


def test_suppress_without_delay_has_no_late_results() -> None:
    assert suppressed(until_time_limit(timedelta(0)), edge=False) == []


def test_streams_put_an_edge_between_suppressed_results_and_further_windows() -> None:
    for until, has_edge in (
        (until_window_closes(MINUTE), True),
        (until_time_limit(minutes(1)), True),
        (until_time_limit(timedelta(0)), False),
    ):
        streams = Streams("suppressed")
        counts = streams.stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=each_update())
        held: Any = buffer_store("held", key=BY_MINUTE, value=INT64)
        final: Any = counts.count().process(suppress(until, store=held), value=INT64)
        final.group_by_key().windowed_by(MINUTES).count().to(BY_BOTH)
        assert ("Repartition:" in streams.build().describe()) == has_edge


def test_windows_with_grace_after_an_edge_are_described_without_a_warning() -> None:
    windows = TumblingWindows(minutes(5), grace=minutes(1))
    topology, found = chained(on_close(), windows=windows, edge="same", changes_key=True)
    assert found == []
    assert "late: results of slower partitions of 'first' may be late" in topology.describe()


def test_windows_that_never_close_have_no_late_results() -> None:
    for windows in (UnlimitedWindows(), TumblingWindows(minutes(5), grace=forever)):
        topology, found = chained(once_per_batch(), windows=windows)
        assert found == []
        assert "late:" not in topology.describe()


def test_warning_has_line_of_aggregation_and_survives_pickling() -> None:
    streams = Streams("chained")
    counts = streams.stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=on_close()).count()
    grouped = counts.group_by(lambda window, _: window.key.upper(), key=TEXT).windowed_by(MINUTES)
    grouped.count().to(BY_TEXT); here = line()  # fmt: skip  # noqa: E702
    with pytest.warns(LateResultsWarning) as caught:
        streams.build()
    (warning,) = [each.message for each in caught]
    assert f"at {here} gets results of 'texts-count-per-1m' without a grace" in str(warning)
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)  # our own


def fluent(emit: Any) -> Topology:
    """Return a topology of streams with windows of windowed results under the same keys."""
    streams = Streams("chained")
    counts = streams.stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=emit).count()
    counts.group_by_key().windowed_by(MINUTES).count().to(BY_BOTH)
    return streams.build()


def test_streams_put_an_edge_between_windows_only_if_results_are_delayed() -> None:
    assert "Repartition:" not in fluent(each_update()).describe()
    for emit in (once_per_batch(), on_close(), every(seconds(10)), at_most_every(seconds(10))):
        assert "Repartition: texts-count-per-1m-repartition" in fluent(emit).describe()


@given(
    times=st.lists(st.integers(0, 1_500), max_size=25).map(sorted),
    keys=st.lists(st.sampled_from("abc"), min_size=25, max_size=25),
    batch=st.integers(1, 25),
    emit=st.sampled_from([each_update(), once_per_batch(), on_close()]),
)
def test_second_windows_of_a_partition_get_the_results_of_all_closed_first_windows(
    times: list[int], keys: list[str], batch: int, emit: Any
) -> None:
    expected = {(key, time // 60) for key, time in zip(keys, times, strict=False)}
    if emit == on_close():
        expected = {(key, first) for key, first in expected if (first + 1) * 60 <= max(times)}
    with TopologyTestDriver(fluent(emit), partitions=1) as driver:
        for place, (key, time) in enumerate(zip(keys, times, strict=False)):
            driver.write(TEXTS, key, "", timestamp=time * 1_000)
            if place % batch == 0:
                driver.run()
        driver.run()
        found = {record.key for record in driver.read(BY_BOTH)}
    assert {(each.key.key, each.key.start_ms // 60_000) for each in found} == expected


@pytest.mark.parametrize(("grace", "counted"), [(timedelta(0), 1), (minutes(20), 2)])
def test_grace_of_second_windows_decides_whether_a_slower_partition_is_counted(
    grace: timedelta, counted: int
) -> None:
    windows = TumblingWindows(minutes(5), grace=grace)
    out = Topic("out", key=windowed(TEXT, windows), value=INT64)
    streams = Streams("chained")
    counts = streams.stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=on_close()).count()
    totals = counts.group_by(lambda _, number: "all").windowed_by(windows).count()
    totals.to(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LateResultsWarning)
        topology = streams.build()
    of_partition = {TEXTS.partitioner.partition(key.encode(), 2): key for key in "abcdef"}
    fast, slow = of_partition[0], of_partition[1]
    with TopologyTestDriver(topology, partitions=2) as driver:
        for minute in (0, 9, 10):
            driver.pipe(TEXTS, fast, "", timestamp=minute * 60_000)
        for minute in (1, 3):  # the first window of the slow partition closes only now
            driver.pipe(TEXTS, slow, "", timestamp=minute * 60_000)
        found = {record.key.start_ms: record.value for record in driver.read(out)}
    assert found[0] == counted


def test_second_windows_lose_no_results_of_partitions_that_keep_their_keys() -> None:
    streams = Streams("kept")
    counts = streams.stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=on_close()).count()
    totals = counts.group_by(lambda window, _: window.key).windowed_by(MINUTES).count()
    totals.to(BY_TEXT)
    of_partition = {TEXTS.partitioner.partition(key.encode(), 2): key for key in "abcdef"}
    fast, slow = of_partition[0], of_partition[1]
    with TopologyTestDriver(streams.build(), partitions=2) as driver:
        for minute in (0, 9, 10):
            driver.pipe(TEXTS, fast, "", timestamp=minute * 60_000)
        for minute in (1, 3, 4):  # far behind the other partition
            driver.pipe(TEXTS, slow, "", timestamp=minute * 60_000)
        found = {(each.key.key, each.key.start_ms): each.value for each in driver.read(BY_TEXT)}
    assert found == {(fast, 0): 1, (fast, 300_000): 1, (slow, 0): 2}
