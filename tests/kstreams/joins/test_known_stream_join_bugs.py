"""Known bugs of stream joins in other systems; the numbers are those of their issue trackers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams.durations import seconds
from kstreams.processors.columns import Execution
from kstreams.state import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.cache.store_overlay import StoreOverlay
from kstreams.state.stores.join.rows import JoinRows
from kstreams.testing import TopologyTestDriver
from kstreams_rocksdb import RocksDB
from tests.kstreams.joins.streams.test_stream_join import (
    PAIRS,
    Itself,
    batch,
    read_results,
    topology,
)
from tests.support.models.stream_join_models import InputRecord, Out, Spans

L, R = 0, 1


def ran(
    spans: Spans, *records: tuple[int, str | None, str | None, int], itself: Itself = "no"
) -> tuple[list[list[Out]], dict[str, int]]:
    """Return the results of each record, and the number of dropped records by reason."""
    with TopologyTestDriver(topology(spans, itself=itself)) as driver:
        steps = [batch(driver, [InputRecord(*record)]) for record in records]
        return steps, dict(driver.dropped)


def test_results_of_quiet_stream_are_forwarded_after_idle_timeout() -> None:
    """kafka-streams-examples#441."""
    spans = Spans("left", 5, 5, 0)
    with TopologyTestDriver(topology(spans, idle_timeout=seconds(1))) as driver:
        assert batch(driver, [InputRecord(L, "a", "v", 10)]) == []
        driver.advance_wall_clock(seconds(2))
        assert read_results(driver) == [("a", "v+None", 10)]
        assert batch(driver, [InputRecord(R, "a", "late", 12)]) == []
        assert driver.dropped == {"late": 1}


def test_results_of_quiet_stream_are_forwarded_at_end() -> None:
    """kafka-streams-examples#441; a later record finds no partner."""
    with TopologyTestDriver(topology(Spans("outer", 5, 5, 100))) as driver:
        assert batch(driver, [InputRecord(L, "a", "v", 10), InputRecord(R, "b", "w", 11)]) == []
        driver.close_windows()
        assert read_results(driver) == [("a", "v+None", 10), ("b", "None+w", 11)]
        assert batch(driver, [InputRecord(R, "a", "late", 11)]) == [("a", "None+late", 11)]
        driver.close_windows()
        assert read_results(driver) == []


def test_out_of_order_record_finds_partner_within_grace() -> None:
    """KAFKA-19536."""
    steps, _ = ran(
        Spans("left", 5, 5, 100), (L, "x", "x", 20), (L, "a", "L", 10), (R, "a", "R", 12)
    )
    assert steps == [[], [], [("a", "L+R", 12)]]


@pytest.mark.parametrize("how", ["left", "outer"])
def test_unmatched_result_once_forwarded_is_not_followed_by_a_pair(how: str) -> None:
    """The window of the right record is open, so it is not late."""
    records = [(L, "a", "L", 10), (L, "x", "x", 16), (R, "a", "R", 12), (R, "y", "y", 40)]
    steps, drops = ran(Spans(how, 5, 5, 0), *records)
    assert steps[1] == [("a", "L+None", 10)]
    assert steps[2] == []
    alone = [("x", "x+None", 16)]
    assert steps[3] == ([("a", "None+R", 12), *alone] if how == "outer" else alone)
    assert drops == {}


@pytest.mark.parametrize(("time", "dropped"), [(10, {"late": 1}), (11, {})])
def test_join_streams_counts_record_as_late_once_its_window_has_closed(
    time: int, dropped: dict[str, int]
) -> None:
    spans = Spans("left", 5, 5, 4)
    assert ran(spans, (L, "x", "x", 20), (R, "a", "R", time))[1] == dropped


def test_unmatched_record_is_forwarded_when_the_window_of_its_own_side_closes() -> None:
    """KAFKA-15417."""
    late = (L, "x", "x", 11)
    steps, _ = ran(Spans("outer", 100, 0, 0), (L, "a", "L", 10), (R, "b", "R", 10), late)
    assert steps[2] == [("a", "L+None", 10)]
    steps, _ = ran(Spans("outer", 0, 100, 0), (L, "a", "L", 10), (R, "b", "R", 10), late)
    assert steps[2] == [("b", "None+R", 10)]


def test_records_of_equal_key_and_time_are_matched_independently() -> None:
    """When Kafka Streams matches one of several records of a key and time, it drops all of them."""
    spans = Spans("left", 0, 5, 0)
    steps, _ = ran(
        spans,
        (L, "a", "one", 10),
        (L, "a", "two", 10),
        (R, "a", "R", 10),
        (L, "a", "three", 10),
        (L, "x", "x", 16),
    )
    assert steps[2] == [("a", "one+R", 10), ("a", "two+R", 10)]
    assert steps[3] == [("a", "three+R", 10)]
    assert steps[4] == []


def test_null_keys_are_forwarded_unmatched_and_null_values_dropped() -> None:
    """KIP-962, KAFKA-16123."""
    records = [
        (L, "x", "x", 100),
        (L, None, "late", 1),
        (R, None, "R", 100),
        (L, "a", None, 100),
    ]
    steps, drops = ran(Spans("left", 5, 5, 0), *records)
    assert steps == [[], [(None, "late+None", 1)], [], []]
    assert drops == {"null-key": 1, "null-value": 1}
    steps, drops = ran(Spans("outer", 5, 5, 0), *records)
    assert steps == [[], [(None, "late+None", 1)], [(None, "None+R", 100)], []]
    assert drops == {"null-value": 1}
    assert ran(Spans("inner", 5, 5, 0), *records)[1] == {"null-key": 2, "null-value": 1}


@pytest.mark.parametrize("time", [0, 3, -62_135_596_800_000, 253_402_300_799_990])
def test_join_ranges_work_before_epoch_and_at_limits_of_time(time: int) -> None:
    spans = Spans("inner", 3_600_000, 3_600_000, 10)
    steps, _ = ran(spans, (L, "a", "L", time + 5), (R, "a", "R", time))
    assert steps[1] == [("a", "L+R", time + 5)]


@pytest.mark.parametrize(("how", "sides"), [("inner", {"left"}), ("outer", {"left", "right"})])
def test_stream_joined_with_itself_makes_each_pair_once(how: str, sides: set[str]) -> None:
    spans = Spans(how, 5, 5, 10)
    records = [(L, "a", "one", 10), (L, "a", "two", 12), (L, "x", "x", 99)]
    with TopologyTestDriver(topology(spans, itself="one node")) as driver:
        steps = [batch(driver, [InputRecord(*record)]) for record in records]
        kept = [record.side for _, record in driver.store(PAIRS).fetch_all()]
    assert steps == [
        [("a", "one+one", 10)],
        [("a", "two+one", 12), ("a", "one+two", 12), ("a", "two+two", 12)],
        [("x", "x+x", 99)],
    ]
    assert set(kept) == sides


@pytest.mark.parametrize("execution", ["records", "columns"])
@pytest.mark.parametrize(
    ("how", "expected", "dropped"),
    [
        ("inner", [], {"late": 1}),
        ("left", ["late+None"], {"late": 1}),
        ("outer", ["late+None", "None+late"], {}),
    ],
)
def test_self_join_does_not_join_late_record_with_itself(
    how: str, expected: list[str], dropped: dict[str, int], execution: Execution
) -> None:
    spans = Spans(how, 5, 5, 0)
    with TopologyTestDriver(topology(spans, itself="one node", execution=execution)) as driver:
        batch(driver, [InputRecord(L, "a", "x", 100)])
        found = batch(driver, [InputRecord(L, "a", "late", 89)])
        assert [value for _, value, _ in found] == expected
        assert driver.dropped == dropped


BACKENDS = pytest.mark.parametrize("backend", [Memory(), RocksDB()], ids=["memory", "rocksdb"])


@BACKENDS
@pytest.mark.parametrize("how", ["inner", "outer"])
def test_join_store_removes_keys_that_do_not_recur(backend: StateBackend, how: str) -> None:
    """risingwave#16045, FLINK-21833: whole buckets are removed by time, whatever their keys."""
    sizes = []
    with TopologyTestDriver(topology(Spans(how, 20, 20, 5)), state=backend) as driver:
        for round_number in range(24):
            base = round_number * 100
            records = [InputRecord(n % 2, f"{base + n}", "v", base + n) for n in range(100)]
            batch(driver, records)
            rows = JoinRows.of(driver.store(PAIRS, 0))
            sizes.append(sum(1 for _ in rows.overlay.scan(None, None)))
    assert max(sizes) < 250


def test_match_in_much_earlier_batch_prevents_unmatched_result() -> None:
    """SPARK-26154: no null result for a row that was matched in an earlier batch."""
    spans = Spans("outer", 10, 10, 0)
    steps, _ = ran(
        spans, (L, "a", "L", 10), (R, "a", "R", 11), (L, "x", "x", 500), (R, "x", "y", 501)
    )
    assert steps == [[], [("a", "L+R", 11)], [], [("x", "x+y", 501)]]


def test_record_joins_partner_of_same_batch() -> None:
    """SPARK-38684."""
    with TopologyTestDriver(topology(Spans("outer", 5, 5, 0))) as driver:
        records = [
            InputRecord(L, "a", "L", 1),
            InputRecord(R, "a", "R", 2),
            InputRecord(L, "x", "x", 90),
        ]
        assert batch(driver, records) == [("a", "L+R", 2)]


@pytest.mark.long
def test_join_store_is_scanned_only_if_a_record_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka Streams opened an iterator for each record (PR #10917)."""
    scans = []
    scan: Callable[..., Any] = StoreOverlay.scan

    def counted(self: StoreOverlay, *args: Any, **kwargs: Any) -> Any:
        scans.append(args)
        return scan(self, *args, **kwargs)

    monkeypatch.setattr(StoreOverlay, "scan", counted)
    with TopologyTestDriver(topology(Spans("outer", 1000, 1000, 1000))) as driver:
        records = [InputRecord(n % 2, f"k{n % 7}", "v", n) for n in range(1500)]
        batch(driver, records)
    assert len(scans) < 20


def test_records_of_equal_time_survive_restart() -> None:
    """Kafka PR #13756: the sequence number is state."""
    spans = Spans("left", 5, 5, 0)
    with TopologyTestDriver(topology(spans)) as driver:
        for n in range(40):  # more than one row can hold
            batch(driver, [InputRecord(L, "a", f"v{n}", 10)])
        found = batch(driver, [InputRecord(R, "a", "R", 10)])
        assert found == [("a", f"v{n}+R", 10) for n in range(40)]
        assert len(list(driver.store(PAIRS).fetch("a", side="left"))) == 40


@pytest.mark.parametrize("time", range(8))
def test_waiting_record_at_retention_limit_is_forwarded(time: int) -> None:
    """Such a record expires and becomes final at the same time."""
    spans = Spans("left", 0, 5, 0)
    steps, _ = ran(spans, (L, "b", "b", time), (L, "a", "a", time + 5), (L, "c", "c", time))
    assert steps == [[], [], []]
    with TopologyTestDriver(topology(spans)) as driver:
        for key, now in (("b", time), ("a", time + 5), ("c", time)):
            batch(driver, [InputRecord(L, key, key, now)])
        found = batch(driver, [InputRecord(L, "d", "d", time + 6)])
    assert sorted(found) == [("b", "b+None", time), ("c", "c+None", time)]


def test_skipped_record_leaves_no_waiting_result_in_join_store() -> None:
    """The in-memory state of a failed record is rolled back too."""
    spans = Spans("outer", 5, 5, 0)
    with TopologyTestDriver(topology(spans, on_error="skip", fails_on="bad")) as driver:
        records = [
            InputRecord(L, "a", "v", 10),
            InputRecord(R, "a", "bad", 10),
            InputRecord(R, "b", "w", 10),
            InputRecord(L, "x", "x", 50),
        ]
        found = batch(driver, records)
        assert sorted(found) == [("a", "v+None", 10), ("b", "None+w", 10)]
        assert driver.dropped == {"skipped-ProcessingError": 1}


EXECUTIONS = pytest.mark.parametrize("execution", ["records", "columns"])


ONE_TIME = (R, "x", 7), (L, "a", 7)
BOTH_EDGES = (R, "x", 90), (R, "y", 100), (L, "a", 95)
IN_GRACE = (R, "x", 80), (R, "y", 100), (L, "a", 85)


@EXECUTIONS
@pytest.mark.parametrize(
    ("how", "span", "grace", "records", "expected"),
    [
        ("inner", 0, 0, ONE_TIME, ["a+x"]),
        ("left", 0, 0, ONE_TIME, ["a+x"]),
        ("outer", 0, 0, ONE_TIME, ["a+x"]),
        ("inner", 5, 0, BOTH_EDGES, ["a+x", "a+y"]),
        ("left", 5, 0, BOTH_EDGES, ["a+x", "a+y"]),
        ("outer", 5, 0, BOTH_EDGES, ["None+x", "a+y"]),
        ("inner", 5, 10, IN_GRACE, ["a+x"]),
        ("left", 5, 10, IN_GRACE, ["a+x"]),
        ("outer", 5, 10, IN_GRACE, ["None+x"]),
    ],
)
def test_join_streams_keeps_record_to_the_last_millisecond(
    how: str,
    execution: Execution,
    span: int,
    grace: int,
    records: tuple[tuple[int, str, int], ...],
    expected: list[str],
) -> None:
    """Kafka Streams removes the record one millisecond earlier.

    A forwarded unmatched result is final.
    """
    spans = Spans(how, span, span, grace)
    with TopologyTestDriver(topology(spans, execution=execution)) as driver:
        steps = [batch(driver, [InputRecord(side, "k", v, time)]) for side, v, time in records]
        assert [value for step in steps for _, value, _ in step] == expected


@EXECUTIONS
@pytest.mark.parametrize("together", [False, True], ids=["batch-each", "one-batch"])
def test_join_streams_forwards_expired_results_before_results_of_expiring_record(
    together: bool, execution: Execution
) -> None:
    """KAFKA-10847: an upsert sink would keep the stale value."""
    records = [
        InputRecord(L, "k", "A0", 0),
        InputRecord(R, "other", "a", 3),
        InputRecord(L, "other", "A1", 20),
        InputRecord(R, "k", "b0", 95),
        InputRecord(L, "k", "B0", 100),
    ]
    spans = Spans("outer", 5, 5, 90)
    with TopologyTestDriver(topology(spans, execution=execution)) as driver:
        if together:
            found = batch(driver, records)
        else:
            found = [out for record in records for out in batch(driver, [record])]
    assert found == [("k", "A0+None", 0), ("other", "None+a", 3), ("k", "B0+b0", 100)]


def test_join_streams_forwards_expired_results_of_skipped_record_once() -> None:
    spans = Spans("outer", 5, 5, 0)
    records = [
        InputRecord(L, "a", "v", 10),
        InputRecord(R, "b", "w", 11),
        InputRecord(R, "c", "x", 20),
        InputRecord(L, "c", "bad", 20),
        InputRecord(L, "c", "y", 40),
    ]
    made = topology(spans, on_error="skip", fails_on="bad", execution="records")
    with TopologyTestDriver(made) as driver:
        found = [out for record in records for out in batch(driver, [record])]
        assert found == [("a", "v+None", 10), ("b", "None+w", 11), ("c", "None+x", 20)]
        assert driver.dropped == {"skipped-ProcessingError": 1}


def test_join_streams_keeps_waiting_records_if_expiring_record_fails() -> None:
    """In one batch: the in-memory state of the failed record is rolled back."""
    spans = Spans("outer", 5, 5, 0)
    records = [
        InputRecord(L, "a", "v", 10),
        InputRecord(R, "c", "x", 20),
        InputRecord(L, "b", "w", 15),
        InputRecord(L, "c", "bad", 25),
        InputRecord(L, "d", "y", 25),
    ]
    made = topology(spans, on_error="skip", fails_on="bad", execution="records")
    with TopologyTestDriver(made) as driver:
        assert batch(driver, records) == [("a", "v+None", 10), ("b", "w+None", 15)]
