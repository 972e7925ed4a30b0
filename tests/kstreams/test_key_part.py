"""Partitions by a part of the key: edges, joins and changes of the function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT, Serde, Topic, TopologyBuilder, timestamped_store
from kstreams.durations import minutes
from kstreams.errors import PartitionCountError, SerializationError, TopologyError
from kstreams.io import Murmur2Partitioner, Partitioner, partition_by_part
from kstreams.joins import inner
from kstreams.operators import columns
from kstreams.partitioner import partition_of
from kstreams.serde.composite import TupleSerde
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde
from tests.support.topologies.executions import ByRecord


@dataclass(frozen=True)
class Basket:
    """A key."""

    user: str
    item: int


@dataclass(frozen=True)
class Order:
    """A value."""

    user: str
    item: int
    price: float


PAIR: Serde[Any] = TupleSerde(TEXT, INT64)
BASKET = json_serde(Basket)
ORDERS = Topic("orders", BYTES, json_serde(Order))
CLICKS = Topic("clicks", BYTES, json_serde(Order))
TABLE = timestamped_store("table", key=PAIR, value=DOUBLE)
PAIRS = st.tuples(st.sampled_from(["", "a", "b", "\U0001f600"]), st.integers(-5, 5))


def user_of(key: tuple[str, int]) -> str:
    return key[0]


def other_user_of(key: tuple[str, int]) -> str:
    return key[0]


def pair_of(_: bytes, order: Order) -> tuple[str, int]:
    return order.user, order.item


@given(st.lists(st.none() | PAIRS), st.integers(1, 9))
def test_partition_is_that_of_the_part_as_a_key(
    keys: list[tuple[str, int] | None], count: int
) -> None:
    by_user = partition_by_part(user_of, key=PAIR)
    data = [None if key is None else PAIR.serialize(key) for key in keys]
    expected = [-1 if key is None else partition_of(key[0].encode(), count) for key in keys]
    assert by_user.partition_batch(pa.array(data, pa.binary()), count).tolist() == expected
    singly = [-1 if each is None else by_user.partition(each, count) for each in data]
    assert singly == expected


@given(st.lists(st.builds(Basket, st.text(max_size=3), st.integers(-5, 5))), st.integers(1, 9))
def test_part_by_columns_gives_the_partitions_of_a_call(keys: list[Basket], count: int) -> None:
    data = BASKET.serialize_many(keys)
    by_columns = partition_by_part(columns(lambda key: key.item * 2), key=BASKET, name="x")
    called = partition_by_part(lambda key: key.item * 2, key=BASKET, name="x")
    assert by_columns.partition_batch(data, count).tolist() == [
        called.partition(each, count) for each in data.to_pylist()
    ]


@pytest.mark.parametrize(
    ("part", "serde"),
    [("a", TEXT), (b"a", BYTES), (7, INT64), (0.5, DOUBLE), (("a", 7), PAIR)],
    ids=lambda found: str(found),
)
def test_part_is_encoded_as_the_key_of_a_topic(part: Any, serde: Any) -> None:
    by = partition_by_part(lambda _: part, key=TEXT, name="x")
    expected = Murmur2Partitioner().partition(serde.serialize(part), 50)
    assert by.partition(b"k", 50) == expected


@pytest.mark.parametrize("part", [None, [1], {"a": 1}, ("a", None), ()])
def test_part_of_another_type_is_refused(part: Any) -> None:
    by = partition_by_part(lambda _: part, key=TEXT, name="x")
    with pytest.raises(SerializationError, match="part of a key, expected text"):
        by.partition_batch(pa.array([b"k"], pa.binary()), 3)


def test_name_is_that_of_the_function_or_its_fields() -> None:
    names = [
        partition_by_part(user_of, key=PAIR).name,
        partition_by_part(lambda key: key.user, key=BASKET).name,
        partition_by_part(columns(lambda key: key.user), key=BASKET).name,
    ]
    assert names == ["part-user-of", "part-user", "part-user"]
    with pytest.raises(TopologyError, match="lambda without a name"):
        partition_by_part(lambda key: key, key=PAIR)


def test_equal_functions_of_columns_make_equal_partitioners() -> None:
    made = [partition_by_part(columns(lambda key: key.user), key=BASKET) for _ in range(2)]
    other = partition_by_part(columns(lambda key: key.item), key=BASKET, name="part-user")
    assert made[0] == made[1] != other
    assert partition_by_part(user_of, key=PAIR) != partition_by_part(other_user_of, key=PAIR)


def joined(streams: Streams) -> None:
    orders = streams.stream(ORDERS).select_key(pair_of, key=PAIR)
    by_user = orders.repartition(partition_by=user_of)
    by_user.group_by_key().count(store="counts").to(Topic("counts", PAIR, INT64))
    clicks = streams.stream(CLICKS).select_key(pair_of, key=PAIR)
    pairs = by_user.join(clicks.within(minutes(1), grace=minutes(1)), price_of, value=DOUBLE)
    pairs.group_by_key().count(store="pairs").to(Topic("pairs", PAIR, INT64))


def price_of(one: Order, two: Order) -> float:
    return one.price + two.price


def edges(text: str) -> list[str]:
    return [line for line in text.splitlines() if "(to group:" in line]


def test_steps_after_the_edge_do_not_repartition_and_joins_use_its_part() -> None:
    streams = Streams("t")
    joined(streams)
    text = streams.build().describe()
    assert len(edges(text)) == 2  # of the orders, and of the clicks for the join
    assert text.count("partitioner: part-user-of") >= 2


@pytest.mark.parametrize("records", [False, True], ids=["columns", "records"])
def test_records_with_equal_parts_are_in_one_task(records: bool) -> None:
    streams = Streams("t")
    joined(streams)
    interceptors: Any = [ByRecord()] if records else []
    with TopologyTestDriver(streams.build(), partitions=5, interceptors=interceptors) as driver:
        for number in range(60):
            order = Order(f"u{number % 7}", number % 3, 1.0)
            driver.write(ORDERS, b"%d" % number, order, timestamp=number)
            driver.write(CLICKS, b"%d" % number, order, timestamp=number)
        driver.run()
        counts = driver.read_values(Topic("counts", PAIR, INT64))
        assert (len(counts), sum(counts.values())) == (21, 60)
        pairs = driver.read_values(Topic("pairs", PAIR, INT64))
        assert pairs == {key: count**2 for key, count in counts.items()}


def test_join_of_different_parts_is_refused() -> None:
    def build(one: Any, two: Any) -> Any:
        builder: Any = TopologyBuilder("t")
        left = builder.add_source("orders", Topic("orders", PAIR, DOUBLE))
        right = builder.add_source("clicks", Topic("clicks", PAIR, DOUBLE))
        left = builder.repartition("left", left, key=PAIR, value=DOUBLE, partition_by=one)
        right = builder.repartition("right", right, key=PAIR, value=DOUBLE, partition_by=two)
        table = builder.to_table("table", right, store=TABLE)
        builder.join_table("both", left, table, inner(lambda a, b: a + b))
        return builder.build()

    TopologyTestDriver(build(user_of, user_of), partitions=2).close()
    for other in (other_user_of, None):
        with pytest.raises(PartitionCountError, match="partitioners differ"):
            TopologyTestDriver(build(user_of, other), partitions=2)


def test_partitioner_and_part_together_are_refused() -> None:
    stream = Streams("t").stream(Topic("orders", PAIR, DOUBLE))
    both: Any = {"partitioner": Murmur2Partitioner(), "partition_by": user_of}
    with pytest.raises(TopologyError, match="both partitioner= and partition_by="):
        stream.repartition(**both)
    builder: Any = TopologyBuilder("t")
    source = builder.add_source("orders", Topic("orders", PAIR, DOUBLE))
    with pytest.raises(TopologyError, match="both partitioner= and partition_by="):
        builder.repartition("edge", source, key=PAIR, value=DOUBLE, **both)
    with pytest.raises(TopologyError, match="expected a function of the key"):
        builder.repartition("edge", source, key=PAIR, value=DOUBLE, partition_by="user")


def test_part_is_a_partitioner_of_topics() -> None:
    by_user: Partitioner = partition_by_part(user_of, key=PAIR)
    topic = Topic("orders", PAIR, DOUBLE, partitioner=by_user)
    streams = Streams("t")
    streams.stream(topic).group_by_key().count(store="counts").to(Topic("counts", PAIR, INT64))
    with TopologyTestDriver(streams.build(), partitions=3) as driver:
        for number in range(9):
            driver.pipe(topic, (f"u{number % 4}", number), 1.0)
        assert len(driver.read_values(Topic("counts", PAIR, INT64))) == 9
