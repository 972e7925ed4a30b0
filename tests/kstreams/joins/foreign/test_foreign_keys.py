"""Foreign-key joins: exact at every commit, with the documented rules."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstreams import TEXT, Record, Serde, Topic, Topology, TopologyBuilder, timestamped_store
from kstreams.emit import each_update
from kstreams.joins import inner, left
from kstreams.state.stores.subscription.kind import subscription_store
from kstreams.stores import versioned_key_value_store
from kstreams.testing import TopologyTestDriver

LEFT, RIGHT = Topic("left", TEXT, TEXT, nulls="pass"), Topic("right", TEXT, TEXT, nulls="pass")
OUT = Topic("out", TEXT, TEXT, nulls="pass")
LEFTS = timestamped_store("lefts", key=TEXT, value=TEXT)
RIGHTS = timestamped_store("rights", key=TEXT, value=TEXT)
FULL = timestamped_store("full", key=TEXT, value=TEXT)
ENTERED = subscription_store("full-entered", foreign=TEXT, key=TEXT, value=TEXT)
Step = tuple[str, str | None, int]


def foreign(_: str, value: str) -> str | None:
    """Return the foreign key before the bar; None without a bar."""
    return value.split("|", 1)[0] if "|" in value else None


def pair(one: str, other: str | None) -> str:
    if "!" in one + (other or ""):
        raise ValueError("this pair cannot be joined")
    return f"{one}+{other}"


JOINERS: dict[str, Any] = {"inner": inner(pair), "left": left(pair)}
hows = pytest.mark.parametrize("how", JOINERS)
policies = pytest.mark.parametrize("on_error", ["fail", "skip"])


def topology_of(how: str, on_error: Any = "fail", *, topic: bool = True) -> Topology:
    builder = TopologyBuilder("t", on_error=on_error)
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    full = builder.join_foreign("full", lefts, rights, JOINERS[how], by=foreign, store=FULL)
    if topic:
        builder.add_sink("out", OUT, builder.to_stream("each", full, emit=each_update()))
    return builder.build()


def steps_of(driver: TopologyTestDriver, topic: Topic[Any, Any], *rows: Step | Any) -> list[Step]:
    for key, value, time in rows:
        driver.pipe(topic, key, value, timestamp=time)
    return [(r.key, r.value, r.timestamp) for r in driver.read(OUT)]


def values(driver: TopologyTestDriver, store: Any) -> dict[Any, Any]:
    return {key: value for key, (value, _) in driver.store_contents(store).items()}


def expected(how: str, lefts: dict[str, str], rights: dict[str, str]) -> dict[str, str]:
    """Return the join of two tables."""
    named = {key: foreign(key, value) for key, value in lefts.items()}
    found = {key: None if name is None else rights.get(name) for key, name in named.items()}
    if how == "inner":
        return {key: f"{lefts[key]}+{other}" for key, other in found.items() if other is not None}
    return {key: f"{lefts[key]}+{other}" for key, other in found.items()}


# ------------------------------------------------------------------ exact at every commit


class Write(NamedTuple):
    topic: Topic[Any, Any]
    key: str
    value: str | None
    time: int


times = st.integers(0, 50)
# "" and keys that are prefixes of other keys
keys = st.sampled_from(["", "a", "ab", "a\0", "b"])
bodies = st.sampled_from(["1", "2"])
left_values = st.none() | bodies | st.builds("{}|{}".format, keys, bodies)
writes = st.builds(Write, st.just(LEFT), st.sampled_from("klmn"), left_values, times) | st.builds(
    Write, st.just(RIGHT), keys, st.none() | bodies, times
)
batches = st.lists(st.lists(writes, max_size=8), max_size=5)
A_B_A = [
    [Write(RIGHT, "a", "1", 1), Write(RIGHT, "b", "1", 1), Write(LEFT, "k", "a|1", 2)],
    # there and back in one batch, while both rows change
    [
        Write(LEFT, "k", "b|1", 5),
        Write(RIGHT, "a", "2", 6),
        Write(RIGHT, "b", "2", 3),
        Write(LEFT, "k", "a|1", 7),
    ],
    # away, after both rows had a result
    [Write(RIGHT, "a", "3", 8), Write(RIGHT, "b", None, 9), Write(LEFT, "k", "b|2", 9)],
]


@pytest.mark.long
@hows
@policies
@pytest.mark.parametrize("partitions", [1, 3])
@settings(max_examples=25)
@given(given_batches=batches)
@example(given_batches=A_B_A)
def test_results_at_every_commit_equal_join_of_both_tables(
    how: str, on_error: str, partitions: int, given_batches: list[list[Write]]
) -> None:
    topology = topology_of(how, on_error, topic=False)
    counts = {"left": partitions, "right": 4 - partitions}
    with TopologyTestDriver(topology, partitions=counts, recreate_processors=True) as driver:
        for batch in given_batches:
            for topic, key, value, time in batch:
                driver.write(topic, key, value, timestamp=time)
            driver.run()
            lefts, rights = values(driver, LEFTS), values(driver, RIGHTS)
            assert values(driver, FULL) == expected(how, lefts, rights)
            parts = [driver.store(ENTERED, part) for part in range(counts["right"])]
            entered = sorted(row for part in parts for row in part.range())
            named = [(foreign(k, v), (k, v)) for k, v in lefts.items()]
            assert entered == sorted(row for row in named if row[0] is not None)


# ------------------------------------------------------------------ rules


@policies
def test_inner_join_forwards_changes_of_present_or_earlier_matches(on_error: str) -> None:
    with TopologyTestDriver(topology_of("inner", on_error)) as driver:
        assert steps_of(driver, LEFT, ("k", "a|1", 5)) == []
        assert steps_of(driver, RIGHT, ("a", "A", 3)) == [("k", "a|1+A", 3)]
        assert steps_of(driver, LEFT, ("k", "a|2", 2)) == [("k", "a|2+A", 3)]
        assert steps_of(driver, LEFT, ("k", "b|2", 7)) == [("k", None, 7)]
        assert steps_of(driver, LEFT, ("k", "b|3", 8)) == []  # unchanged and unmatched
        assert steps_of(driver, RIGHT, ("b", None, 9)) == [("k", None, 9)]
        assert steps_of(driver, RIGHT, ("b", "B", 20)) == [("k", "b|3+B", 20)]
        assert steps_of(driver, LEFT, ("k", "x", 10)) == [
            ("k", None, 20)
        ]  # no longer has a foreign key
        assert steps_of(driver, LEFT, ("k", "y", 11), ("k", None, 12)) == []


@policies
def test_left_foreign_key_join_forwards_each_change_of_left_rows(on_error: str) -> None:
    with TopologyTestDriver(topology_of("left", on_error)) as driver:
        assert steps_of(driver, LEFT, ("k", "a|1", 5)) == [("k", "a|1+None", 5)]
        assert steps_of(driver, LEFT, ("k", "x", 6)) == [("k", "x+None", 6)]
        assert steps_of(driver, RIGHT, ("a", "A", 7)) == []
        assert steps_of(driver, LEFT, ("k", "a|2", 3)) == [("k", "a|2+A", 7)]
        assert steps_of(driver, RIGHT, ("a", None, 4)) == [("k", "a|2+None", 4)]
        assert steps_of(driver, LEFT, ("k", None, 2)) == [("k", None, 2)]
        assert steps_of(driver, LEFT, ("k", None, 9)) == []


@hows
@policies
def test_foreign_key_changed_and_changed_back_in_one_batch_is_forwarded_once(
    how: str, on_error: str
) -> None:
    with TopologyTestDriver(topology_of(how, on_error), partitions=3) as driver:
        steps_of(driver, RIGHT, ("a", "A", 1), ("b", "B", 1))
        steps_of(driver, LEFT, ("k", "a|1", 2))
        there_and_back = [("k", "b|2", 3), ("k", "a|3", 4)]
        driver.pipe_batch(LEFT, [Record(*row) for row in there_and_back])
        assert [(r.value, r.timestamp) for r in driver.read(OUT)] == [("a|3+A", 4)]
        assert steps_of(driver, RIGHT, ("b", "B2", 5)) == []
        assert steps_of(driver, RIGHT, ("a", "A2", 6)) == [("k", "a|3+A2", 6)]


@hows
@policies
def test_left_row_that_moved_to_other_task_in_batch_has_result_of_latest_change(
    how: str, on_error: str
) -> None:
    """In one batch, the old right row changes in another task before the left row leaves it."""
    for names in ("abcdefgh", "hgfedcba"):  # whichever task is read first
        with TopologyTestDriver(topology_of(how, on_error), partitions=4) as driver:
            for name in names:
                steps_of(driver, RIGHT, (name, name.upper(), 1))
            for one, other in pairwise(names):
                steps_of(driver, LEFT, ("k", f"{one}|1", 2))
                driver.write(RIGHT, one, "x", timestamp=3)
                driver.write(LEFT, "k", f"{other}|2", timestamp=4)
                driver.write(RIGHT, other, "y", timestamp=4)
                driver.write(RIGHT, one, "z", timestamp=5)
                driver.run()
                assert values(driver, FULL) == {"k": f"{other}|2+y"}


@hows
def test_foreign_keys_that_are_prefixes_or_empty_are_distinct(how: str) -> None:
    names = ["", "a", "ab", "a\0", "a\0b", "b"]
    with TopologyTestDriver(topology_of(how)) as driver:
        for name in names:
            steps_of(driver, LEFT, (f"k{name}", f"{name}|1", 2))
        for name in names:
            assert steps_of(driver, RIGHT, (name, "A", 5)) == [(f"k{name}", f"{name}|1+A", 5)]


class Varying(Serde[str]):
    """Serializes equal values to different bytes each time, like serializers with schema ids."""

    name = "varying"
    type_token = str
    immutable = True
    numbers = iter(range(1, 1 << 30))

    def serialize(self, value: str) -> bytes:
        return next(self.numbers).to_bytes(4, "big") + value.encode()

    def deserialize(self, data: bytes) -> str:
        return data[4:].decode()


@hows
def test_row_with_equal_value_in_other_bytes_is_not_forwarded(how: str) -> None:
    value = Varying()
    lefts, rights = Topic("left", TEXT, value), Topic("right", TEXT, value)
    builder = TopologyBuilder("t")
    one = builder.add_table("l", lefts, store=timestamped_store("l", key=TEXT, value=value))
    two = builder.add_table("r", rights, store=timestamped_store("r", key=TEXT, value=value))
    full = timestamped_store("full", key=TEXT, value=value)
    builder.join_foreign("full", one, two, JOINERS[how], by=foreign, store=full)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(rights, "a", "A")
        driver.pipe(lefts, "k", "a|1")
        driver.pipe(lefts, "k", "a|1")
        driver.pipe(rights, "a", "A")
        assert values(driver, full) == {"k": "a|1+A"}


def test_late_versions_of_versioned_tables_forward_no_result() -> None:
    made = [
        versioned_key_value_store(name, key=TEXT, value=TEXT, retention=timedelta(milliseconds=100))
        for name in ("lefts", "rights")
    ]
    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=made[0])
    rights = builder.add_table("rights", RIGHT, store=made[1])
    full = builder.join_foreign("full", lefts, rights, inner(pair), by=foreign, store=FULL)
    builder.add_sink("out", OUT, builder.to_stream("each", full, emit=each_update()))
    with TopologyTestDriver(builder.build()) as driver:
        steps_of(driver, RIGHT, ("a", "A", 50))
        assert steps_of(driver, LEFT, ("k", "a|1", 50)) == [("k", "a|1+A", 50)]
        assert steps_of(driver, LEFT, ("k", "b|0", 40), ("k", None, 30)) == []
        assert steps_of(driver, RIGHT, ("a", "Z", 40), ("a", None, 30)) == []
        assert values(driver, FULL) == {"k": "a|1+A"}


def test_left_row_changed_repeatedly_in_batch_is_joined_once() -> None:
    with TopologyTestDriver(topology_of("inner")) as driver:
        for name in "klm":
            steps_of(driver, LEFT, (name, "a|1", 1))
        driver.pipe_batch(RIGHT, [Record("a", str(n), n) for n in range(9)])
        found = [(r.key, r.value, r.timestamp) for r in driver.read(OUT)]
        assert found == [(name, "a|1+8", 8) for name in "klm"]


def test_two_consecutive_foreign_key_joins_are_exact() -> None:
    regions = Topic("regions", TEXT, TEXT, nulls="pass")
    kept = timestamped_store("regions", key=TEXT, value=TEXT)
    both = timestamped_store("both", key=TEXT, value=TEXT)
    builder = TopologyBuilder("t")
    lefts = builder.add_table("lefts", LEFT, store=LEFTS)
    rights = builder.add_table("rights", RIGHT, store=RIGHTS)
    third = builder.add_table("regions", regions, store=kept)
    full = builder.join_foreign("full", lefts, rights, left(pair), by=foreign, store=FULL)
    builder.join_foreign(
        "both", full, third, left(pair), by=lambda _, v: v.rpartition("+")[2], store=both
    )
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        driver.write(regions, "A", "north", timestamp=9)
        driver.write(RIGHT, "a", "A", timestamp=8)
        driver.write(LEFT, "k", "a|1", timestamp=7)
        driver.write(LEFT, "l", "b|1", timestamp=7)
        driver.run()
        assert values(driver, both) == {"k": "a|1+A+north", "l": "b|1+None+None"}
        driver.write(RIGHT, "a", None, timestamp=10)
        driver.write(RIGHT, "b", "A", timestamp=10)
        driver.run()
        assert values(driver, both) == {"k": "a|1+None+None", "l": "b|1+A+north"}
