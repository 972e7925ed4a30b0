"""Foreign-key joins that fail, or are rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import count
from kstreams.errors import ProcessingError, TopologyError
from kstreams.joins import inner, outer
from kstreams.operators import aggregate
from kstreams.processors.on_error import DeadLetter, dead_letter_topic
from kstreams.testing import TopologyTestDriver
from tests.kstreams.joins.foreign.test_foreign_keys import (
    FULL,
    JOINERS,
    LEFT,
    LEFTS,
    RIGHT,
    RIGHTS,
    expected,
    foreign,
    hows,
    pair,
    steps_of,
    topology_of,
    values,
)


@pytest.mark.parametrize("topic", [LEFT, RIGHT])
def test_failing_joiner_fails_batch(topic: Topic[Any, Any]) -> None:
    with TopologyTestDriver(topology_of("inner")) as driver:
        steps_of(driver, RIGHT, ("a", "A", 1))
        steps_of(driver, LEFT, ("k", "a|1", 1))
        with pytest.raises(ProcessingError, match="cannot be joined") as caught:
            driver.pipe(topic, "k" if topic is LEFT else "a", "a|!")
        assert caught.value.where.node == "full.foreign"
        assert values(driver, FULL) == {"k": "a|1+A"}


@hows
def test_failure_of_joiner_after_change_of_right_row_skips_the_right_record(how: str) -> None:
    with TopologyTestDriver(topology_of(how, "skip")) as driver:
        steps_of(driver, RIGHT, ("a", "A", 1))
        steps_of(driver, LEFT, ("k", "a|1", 1), ("l", "a|2", 1))
        assert steps_of(driver, RIGHT, ("a", "!", 2), ("a", "B", 3)) == [
            ("k", "a|1+B", 3),
            ("l", "a|2+B", 3),
        ]
        assert driver.dropped == {"skipped-ProcessingError": 1}
        assert values(driver, RIGHTS) == {"a": "B"}


def test_failure_after_repartition_names_pair_of_keys() -> None:
    letters = DeadLetter("letters")
    with TopologyTestDriver(topology_of("inner", letters)) as driver:
        steps_of(driver, RIGHT, ("a", "A", 1))
        steps_of(driver, LEFT, ("k", "a|!", 1))
        (letter,) = driver.read(dead_letter_topic(letters))
        assert letter.key == b"a"
        assert letter.value is not None
        assert letter.value.endswith(b"ka|!")


def test_record_whose_foreign_key_function_fails_changes_no_state() -> None:
    builder = TopologyBuilder("t", on_error="skip")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)

    def named(_: str, value: str) -> str:
        return value.split("|")[1] and value.split("|", maxsplit=1)[0]

    builder.join_foreign("full", lefts, rights, inner(pair), by=named, store=FULL)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "a", "A")
        driver.pipe_batch(LEFT, [Record("k", "a|1", 1), Record("k", "nonsense", 2)])
        assert values(driver, LEFTS) == {"k": "a|1"}
        assert values(driver, FULL) == {"k": "a|1+A"}


def tables(builder: TopologyBuilder) -> tuple[Any, Any]:
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    return lefts, builder.add_table("rights", RIGHT, store=RIGHTS)


def test_outer_join_by_foreign_key_is_rejected() -> None:
    builder = TopologyBuilder("t")
    made: Any = outer(lambda one, other: f"{one}+{other}")
    with pytest.raises(TopologyError, match="no outer join by a foreign key"):
        builder.join_foreign("full", *tables(builder), made, by=foreign, store=FULL)


def test_result_store_needs_key_serde_of_left_table() -> None:
    builder = TopologyBuilder("t")
    wrong: Any = timestamped_store("full", key=INT64, value=TEXT)
    with pytest.raises(TopologyError, match="keys of int64, but the left table has keys of text"):
        builder.join_foreign("full", *tables(builder), inner(pair), by=foreign, store=wrong)


def test_table_without_store_needs_value_serde() -> None:
    builder = TopologyBuilder("t")
    lefts, rights = tables(builder)
    some = builder.derive("some", lefts, lambda _, value: value if value != "x" else None)
    with pytest.raises(TopologyError, match="serde of its values is not known") as caught:
        builder.join_foreign("full", some, rights, inner(pair), by=foreign, store=FULL)
    assert caught.value.hint == "give value=, or give 'some' a store."
    builder.join_foreign("full", some, rights, inner(pair), by=foreign, store=FULL, value=TEXT)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(RIGHT, "a", "A")
        driver.pipe(LEFT, "k", "a|1")
        assert values(driver, FULL) == {"k": "a|1+A"}


def test_foreign_key_join_results_joined_with_left_table_are_rejected_as_cycle() -> None:
    builder = TopologyBuilder("t")
    lefts, rights = tables(builder)
    full = builder.join_foreign("full", lefts, rights, inner(pair), by=foreign, store=FULL)
    builder.join_tables("again", lefts, full, inner(pair))
    with pytest.raises(TopologyError, match="leads back into its own group") as caught:
        builder.build()
    assert 'builder.to_table("' in str(caught.value)


@hows
def test_table_joins_itself_through_a_copy(how: str) -> None:
    def employees(copied: Callable[[TopologyBuilder, Any], Any]) -> TopologyBuilder:
        builder = TopologyBuilder("t")
        people = builder.add_table("lefts", LEFT, store=LEFTS)
        bosses = copied(builder, people)
        builder.join_foreign("full", people, bosses, JOINERS[how], by=foreign, store=FULL)
        return builder

    with pytest.raises(TopologyError, match="leads back into its own group"):
        employees(lambda _, people: people).build()

    def copied(builder: TopologyBuilder, people: Any) -> Any:
        changes = builder.to_stream("changes", people)
        edge = builder.repartition("by-key", changes, key=TEXT, value=TEXT, nulls="pass")
        return builder.to_table("copy", edge, store=timestamped_store("c", key=TEXT, value=TEXT))

    with TopologyTestDriver(employees(copied).build(), partitions=2) as driver:
        rows = [Record("ann", "|A", 1), Record("bob", "ann|B", 1), Record("cem", "bob|C", 1)]
        driver.pipe_batch(LEFT, rows)
        driver.pipe(LEFT, "bob", None)
        lefts = values(driver, LEFTS)
        assert values(driver, FULL) == expected(how, lefts, lefts)


def test_right_table_may_be_built_from_repartitioned_records() -> None:
    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    moved = builder.repartition(
        "moved", builder.add_source("rights", RIGHT), key=TEXT, value=TEXT, nulls="pass"
    )
    rights: Any = aggregate(count(), store=timestamped_store("counts", key=TEXT, value=INT64))
    counts = builder.aggregate_table("counts", rights, moved)
    joiner: Any = inner(lambda one, number: f"{one}+{number}")
    builder.join_foreign("full", lefts, counts, joiner, by=foreign, store=FULL)
    with TopologyTestDriver(builder.build(), partitions={"left": 2, "right": 3}) as driver:
        driver.pipe(LEFT, "k", "a|1")
        for _ in range(3):
            driver.pipe(RIGHT, "a", "x")
        assert values(driver, FULL) == {"k": "a|1+3"}
