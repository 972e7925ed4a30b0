"""Tables regrouped by another key equal a group-by of the table at every commit."""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT, Record, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import InvertibleAggregator, combine, count, max_, mean, over, sum_
from kstreams.emit import each_update, once_per_batch
from kstreams.errors import DeserializationError, SerializationError, TopologyError
from kstreams.joins import Change
from kstreams.joins.tables.change_serde import ChangeSerde
from kstreams.processors.on_error import DeadLetter, dead_letter_topic
from kstreams.serde.composite import TupleSerde
from kstreams.stores import versioned_key_value_store
from kstreams.testing import TopologyTestDriver

ROW: Any = TupleSerde(TEXT, DOUBLE)
ROWS = Topic("rows", TEXT, ROW, nulls="pass")
OUT = Topic("out", TEXT, INT64, nulls="pass")
KEPT = timestamped_store("rows", key=TEXT, value=ROW)
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)


def group(_: str, row: tuple[str, float]) -> str | None:
    """Return the group of a row; "-" means no group, and "?" fails."""
    if row[0] == "?":
        raise ValueError("no group can be found")
    return None if row[0] == "-" else row[0]


def number(row: tuple[str, float]) -> float:
    return row[1]


def builder_of(
    aggregator: Any, store: Any, *, emit: Any = None, on_error: Any = "fail", kept: Any = KEPT
) -> TopologyBuilder:
    builder = TopologyBuilder("t", on_error=on_error)
    table = builder.add_table("table", ROWS, store=kept)
    given = once_per_batch() if emit is None else emit
    groups = builder.regroup("groups", table, group, aggregator, store=store, emit=given)
    if store == COUNTS:
        builder.add_sink("out", OUT, builder.to_stream("each", groups, emit=each_update()))
    return builder


def values(driver: TopologyTestDriver, store: Any) -> dict[Any, Any]:
    return {key: value for key, (value, _) in driver.store_contents(store).items()}


def counts(driver: TopologyTestDriver) -> list[tuple[str, int | None]]:
    return [(record.key, record.value) for record in driver.read(OUT)]


# ------------------------------------------------------------------ group-by at every commit

rows = st.none() | st.tuples(st.sampled_from(["a", "b", "", "-", "?"]), st.floats(width=64))
writes = st.lists(st.lists(st.tuples(st.sampled_from("klmn"), rows), max_size=8), max_size=5)
DRIFTS = [[("k", ("a", 1e16)), ("l", ("a", 0.1))], [("k", None)], [("l", ("a", 0.3))]]


@pytest.mark.long
@pytest.mark.parametrize("emit", [each_update(), once_per_batch()], ids=["each", "once"])
@settings(max_examples=60)
@given(given_batches=writes)
@example(given_batches=DRIFTS)
@example(given_batches=[[("k", ("a", math.inf))], [("k", ("a", 1.5)), ("l", ("a", math.nan))]])
def test_regrouped_table_equals_group_by_of_table_at_every_commit(
    emit: Any, given_batches: Any
) -> None:
    both: InvertibleAggregator[Any, Any, Any, Any] = combine(count(), over(number, sum_(DOUBLE)))
    store = timestamped_store("sums", key=TEXT, value=both.state)
    topology = builder_of(both, store, emit=emit, on_error="skip").build()
    with TopologyTestDriver(topology, partitions=2, recreate_processors=True) as driver:
        for batch in given_batches:
            for key, row in batch:
                driver.write(ROWS, key, row)
            driver.run()
            expected = defaultdict(list)
            for key, row in values(driver, KEPT).items():
                name = group(key, row)
                if name is not None:
                    expected[name].append(row[1])
            found = values(driver, store)
            assert set(found) == set(expected)
            for name, numbers in expected.items():
                assert found[name][0] == len(numbers)
                total = sum_of(numbers)
                assert found[name][1] == total or (math.isnan(total) and math.isnan(found[name][1]))


def sum_of(numbers: list[float]) -> float:
    """Return the sum, rounded once."""
    special = [each for each in numbers if not math.isfinite(each)]
    if special:
        return sum(special)
    try:
        return math.fsum(numbers)
    except OverflowError:
        total = sum(map(Fraction, numbers), Fraction())
        try:
            return float(total)
        except OverflowError:
            return math.copysign(math.inf, total)


# ------------------------------------------------------------------ rules


def test_changed_row_moves_between_groups_of_regrouped_table() -> None:
    with TopologyTestDriver(builder_of(count(), COUNTS).build(), partitions=3) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0), timestamp=5)
        driver.pipe(ROWS, "l", ("a", 1.0), timestamp=4)
        assert counts(driver) == [("a", 1), ("a", 2)]
        assert driver.store_contents(COUNTS) == {"a": (2, 5)}
        driver.pipe(ROWS, "k", ("b", 1.0), timestamp=7)
        assert sorted(counts(driver)) == [("a", 1), ("b", 1)]
        driver.pipe(ROWS, "k", ("-", 1.0))  # no longer in a group
        driver.pipe(ROWS, "l", None)
        assert counts(driver) == [("b", None), ("a", None)]
        assert driver.store_contents(COUNTS) == {}
        assert driver.dropped == {}


def test_regrouped_result_is_never_forwarded_between_removal_and_addition_of_row() -> None:
    """Old and new value of a row are applied in one step."""
    sums = timestamped_store("sums", key=TEXT, value=INT64)
    numbers = Topic("numbers", TEXT, INT64)
    out = Topic("out", TEXT, INT64, nulls="pass")
    builder = TopologyBuilder("t")
    table = builder.add_table("t", numbers, store=timestamped_store("n", key=TEXT, value=INT64))
    summed = builder.regroup("sums", table, lambda _, __: "all", sum_(INT64), store=sums)
    builder.add_sink("out", out, builder.to_stream("each", summed, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(numbers, "k", 5)
        driver.pipe(numbers, "k", 7)
        driver.pipe(numbers, "l", 1)
        driver.pipe(numbers, "k", 8)
        assert [record.value for record in driver.read(out)] == [5, 7, 8, 9]


@pytest.mark.parametrize(("emit", "expected"), [(once_per_batch(), []), (each_update(), [2, 1, 1])])
def test_group_unchanged_at_end_of_batch_is_not_forwarded(emit: Any, expected: list[int]) -> None:
    with TopologyTestDriver(builder_of(count(), COUNTS, emit=emit).build()) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0))
        counts(driver)
        there_and_back = [("l", ("a", 1.0)), ("l", None), ("k", ("a", 2.0)), ("k", ("a", 1.0))]
        driver.pipe_batch(ROWS, [Record(key, row, 9) for key, row in there_and_back])
        found = [number for _, number in counts(driver)]
        assert found[: len(expected)] == expected
        assert values(driver, COUNTS) == {"a": 1}


def test_regroup_forwards_nothing_for_versions_older_than_the_latest() -> None:
    kept: Any = versioned_key_value_store(
        "rows", key=TEXT, value=ROW, retention=timedelta(milliseconds=100)
    )
    with TopologyTestDriver(builder_of(count(), COUNTS, kept=kept).build()) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0), timestamp=50)
        driver.pipe(ROWS, "k", ("b", 1.0), timestamp=40)
        driver.pipe(ROWS, "k", None, timestamp=30)
        assert counts(driver) == [("a", 1)]


def test_regrouped_table_can_be_regrouped_again() -> None:
    """Old values of a regrouped table equal its earlier results, so they can be removed again."""
    builder = builder_of(count(), COUNTS)
    sizes = timestamped_store("sizes", key=INT64, value=INT64)
    table: Any = builder.add_table(
        "again", Topic("again", TEXT, ROW), store=timestamped_store("again", key=TEXT, value=ROW)
    )
    first = timestamped_store("first", key=TEXT, value=INT64)
    groups = builder.regroup("first", table, group, count(), store=first)
    builder.regroup("sizes", groups, lambda _, n: n, count(), store=sizes, value=INT64)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        again = Topic("again", TEXT, ROW, nulls="pass")
        for key, name in [("k", "a"), ("l", "a"), ("m", "b"), ("n", "c"), ("m", "a"), ("n", "b")]:
            driver.pipe(again, key, (name, 1.0))
            by_size: dict[int, int] = defaultdict(int)
            for size in values(driver, first).values():
                by_size[size] += 1
            assert values(driver, sizes) == by_size


# ------------------------------------------------------------------ failures


class Failing:
    """Counts rows; rejects the value 13."""

    state = INT64

    def init(self, record: Record[Any, Any]) -> int:
        return self.add(0, record)

    def add(self, state: int, record: Record[Any, Any]) -> int:
        if record.value[1] == 13:
            raise ValueError("not this one")
        return state + 1

    def remove(self, state: int, record: Record[Any, Any]) -> int:
        return state - 1

    def merge(self, earlier: int, later: int) -> int:
        return earlier + later

    def result(self, state: int) -> int:
        return state


def test_failed_change_after_repartition_is_neither_removed_nor_added_and_names_both_keys() -> None:
    letters = DeadLetter("letters")
    topology = builder_of(Failing(), COUNTS, on_error=letters).build()
    with TopologyTestDriver(topology) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0))
        driver.pipe(ROWS, "l", ("a", 1.0))
        driver.pipe(ROWS, "k", ("a", 13.0))
        assert values(driver, COUNTS) == {"a": 2}  # neither removed nor added
        (letter,) = driver.read(dead_letter_topic(letters))
        assert letter.key == b"a"
        assert ChangeSerde(ROW).deserialize(letter.value or b"") == Change(("a", 13.0), ("a", 1.0))


def test_failing_group_function_fails_change_of_row() -> None:
    with TopologyTestDriver(builder_of(count(), COUNTS, on_error="skip").build()) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0))
        driver.pipe(ROWS, "k", ("?", 1.0))
        assert driver.dropped == {"skipped-ProcessingError": 1}
        assert values(driver, KEPT) == {"k": ("a", 1.0)}
        assert values(driver, COUNTS) == {"a": 1}


def test_regroup_counts_and_ignores_removal_of_row_that_was_never_added() -> None:
    topology = builder_of(Failing(), COUNTS, on_error="skip").build()
    with TopologyTestDriver(topology) as driver:
        driver.pipe(ROWS, "k", ("a", 13.0))
        driver.pipe(ROWS, "k", None)
        assert driver.dropped == {"skipped-ProcessingError": 1, "not-in-group": 1}
        assert values(driver, COUNTS) == {}


# ------------------------------------------------------------------ at build()


def test_aggregator_that_is_not_invertible_is_rejected() -> None:
    store = timestamped_store("m", key=TEXT, value=max_(INT64).state)
    with pytest.raises(TopologyError, match="needs an aggregator that can remove"):
        builder_of(max_(INT64), store)


def test_regroup_rejects_store_without_serde_of_aggregator_state() -> None:
    with pytest.raises(TopologyError, match="the aggregator's state has the serde tuple"):
        builder_of(mean(), timestamped_store("m", key=TEXT, value=DOUBLE))


def test_table_without_store_needs_value_serde() -> None:
    builder = TopologyBuilder("t")
    table = builder.add_table("table", ROWS, store=KEPT)
    small = builder.derive("small", table, lambda _, row: row if row[1] < 10 else None)
    with pytest.raises(TopologyError, match="serde of its values is not known"):
        builder.regroup("counts", small, group, count(), store=COUNTS)
    builder.regroup("counts", small, group, count(), store=COUNTS, value=ROW)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(ROWS, "k", ("a", 1.0))
        driver.pipe(ROWS, "l", ("a", 11.0))
        assert values(driver, COUNTS) == {"a": 1}


def test_regrouped_table_has_changelogs_of_result_and_member_stores() -> None:
    topology = builder_of(count(), COUNTS.with_changelog("log")).build()
    assert {spec.changelog for spec in topology.stores} == {None, "log", "log-members"}


# ------------------------------------------------------------------ changes as bytes


@given(old=st.none() | st.integers(0, 9), new=st.none() | st.integers(0, 9))
def test_table_changes_survive_serialization(old: int | None, new: int | None) -> None:
    serde = ChangeSerde(INT64)
    data = serde.serialize(Change(new, old))
    assert serde.deserialize(data) == Change(new, old)
    assert serde.deserialize_many(serde.serialize_many([Change(new, old), None])) == [
        Change(new, old),
        None,
    ]
    assert serde.deserialize_many(serde.serialize_many([Change(new, old)])) == [Change(new, old)]
    with pytest.raises(DeserializationError):
        serde.deserialize(data[:3])
    with pytest.raises(SerializationError):
        serde.serialize(Change(1 << 70, None))
