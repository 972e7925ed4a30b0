"""Edges are exactly where a key may have changed before a step that needs equal keys together."""

from __future__ import annotations

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Processor,
    Record,
    Topic,
    key_value_store,
    timestamped_store,
)
from kstreams.durations import hours, minutes
from kstreams.io import Fnv1aPartitioner
from kstreams.stores import StoreSpec, TimestampedStore
from kstreams.streams import Streams
from kstreams.windows import TumblingWindows
from kstreams_json import json_serde
from tests.kstreams.streams.shop import (
    NAMES,
    ORDERS,
    OUT,
    TEXTS,
    Order,
    customer_of,
    edge_names,
    edges,
    is_dear,
    refused,
)

SEEN = key_value_store("seen", key=TEXT, value=TEXT)


class Keep(FixedKeyProcessor[str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


class Change(Processor[str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def both(text: str, other: str | None) -> str:
    return f"{text}{other}"


def name_of(_: Order, name: str) -> str:
    return name


def test_unchanged_key_gets_no_repartition_edge() -> None:
    streams = Streams("none")
    texts = streams.stream(TEXTS).map_values(str.upper).filter(lambda _, text: text != "")
    texts.process(Keep).group_by_key().count()
    texts.left_join(streams.table(NAMES), both).process(Keep, stores=[SEEN]).to(OUT)
    assert edges(streams.build()) == []


def test_steps_after_one_changed_key_share_one_repartition_edge() -> None:
    streams = Streams("shared")
    keyed = streams.stream(ORDERS).select_key(customer_of)
    keyed.join(streams.table(NAMES), name_of).to(OUT)
    keyed.group_by_key().count()
    keyed.group_by_key().windowed_by(TumblingWindows(hours(1))).count()
    once = keyed.deduplicate(lambda _, order: order.item, within=minutes(1))
    once.map_values(lambda order: order.item).to(Topic("once", TEXT, TEXT))
    keyed.to_table()
    assert edge_names(streams.build()) == ["orders-by-customer-of-repartition"]


def test_stateless_steps_after_changed_key_get_no_repartition_edge() -> None:
    streams = Streams("stateless")
    keyed = streams.stream(ORDERS).select_key(customer_of).filter(lambda _, order: order.price > 1)
    keyed.map_values(lambda order: order.item).process(Change).to(OUT)
    assert edges(streams.build()) == []


def test_aggregation_after_processor_that_may_change_keys_gets_repartition_edge() -> None:
    streams = Streams("process")
    streams.stream(TEXTS).process(Change).group_by_key().count()
    assert edge_names(streams.build()) == ["texts-change-repartition"]


def test_processor_with_stores_after_changed_key_gets_repartition_edge() -> None:
    streams = Streams("process")
    moved = streams.stream(TEXTS).select_key(lambda _, text: text)
    moved.process(Keep, stores=[SEEN]).to(OUT)
    assert edge_names(streams.build()) == ["texts-by-value-repartition"]


def test_explicit_repartition_is_shared_by_downstream_streams() -> None:
    streams = Streams("explicit")
    keyed = streams.stream(ORDERS).select_key(customer_of)
    keyed = keyed.repartition(partitions=5, partitioner=Fnv1aPartitioner())
    keyed.filter(lambda _, order: order.price > 9).group_by_key().count(store="dear")
    keyed.filter(lambda _, order: order.price <= 9).group_by_key().count(store="cheap")
    (edge,) = edges(streams.build())
    assert (edge.partitions, edge.partitioner) == (5, Fnv1aPartitioner())


def test_edge_before_join_has_serde_and_partitioner_of_other_side() -> None:
    serde, rule = json_serde(str), Fnv1aPartitioner()
    streams = Streams("other")
    names = streams.table(Topic("json-names", serde, TEXT, partitioner=rule))
    keyed = streams.stream(ORDERS).select_key(customer_of)
    keyed.join(names, name_of).to(Topic("json-out", serde, TEXT))
    (edge,) = edges(streams.build())
    assert (edge.key, edge.partitioner) == (serde, rule)


def test_edges_of_one_stream_with_several_key_serdes_have_several_names() -> None:
    serde = json_serde(str)
    streams = Streams("two")
    keyed = streams.stream(ORDERS).select_key(customer_of)
    keyed.join(streams.table(Topic("json-names", serde, TEXT)), name_of).to_table()
    keyed.join(streams.table(NAMES), name_of).named("plain").to_table()
    assert edge_names(streams.build()) == [
        "orders-by-customer-of-json-str-repartition",
        "orders-by-customer-of-repartition",
    ]


def test_edge_of_unknown_key_serde_takes_serde_of_joined_table() -> None:
    streams = Streams("unknown")
    keyed = streams.stream(ORDERS).select_key(lambda _, order: order.customer.strip())
    keyed.join(streams.table(NAMES), name_of).to(OUT)
    assert [edge.key for edge in edges(streams.build())] == [TEXT]


def test_both_changed_sides_of_stream_join_have_edges_with_equal_serdes() -> None:
    streams = Streams("both")
    one = streams.stream(TEXTS).select_key(lambda _, text: text)
    two = streams.stream(NAMES).select_key(lambda _, name: name.strip())
    near = two.within(minutes(1), grace=minutes(1))
    one.join(near, lambda text, name: f"{text}{name}").to(OUT)
    assert [edge.key for edge in edges(streams.build())] == [TEXT, TEXT]


def test_join_of_changed_stream_with_itself_has_one_edge() -> None:
    streams = Streams("itself")
    one = streams.stream(TEXTS).select_key(lambda _, text: text)
    one.join(one.within(minutes(1), grace=minutes(1)), lambda a, b: f"{a}{b}").to(OUT)
    assert edge_names(streams.build()) == ["texts-by-value-repartition"]


def test_merged_stream_has_edge_if_key_of_one_stream_may_have_changed() -> None:
    streams = Streams("merged")
    texts, names = streams.stream(TEXTS), streams.stream(NAMES)
    texts.merge(names.select_key(lambda _, name: name)).group_by_key().count()
    assert edge_names(streams.build()) == ["texts-repartition"]


def test_cogrouped_streams_get_repartition_edges_only_after_changed_keys() -> None:
    def update(old: int | None, record: Record[str, str]) -> int:
        return (old or 0) + len(record.value)

    streams = Streams("cogrouped")
    moved = streams.stream(TEXTS).group_by(lambda _, text: text)
    moved.cogroup(update).cogroup(streams.stream(NAMES).group_by_key(), update).aggregate()
    assert edge_names(streams.build()) == ["texts-by-value-repartition"]


def test_edge_of_values_and_keys_that_may_be_none_passes_nulls() -> None:
    def customer_or_none(_: bytes, order: Order | None) -> str | None:
        return order.customer if order else None

    streams = Streams("nulls")
    orders = streams.stream(Topic("orders", ORDERS.key, ORDERS.value, nulls="pass"))
    orders.group_by(customer_or_none).count()
    (edge,) = edges(streams.build())
    assert (edge.nulls, edge.null_keys) == ("pass", "pass")


def test_automatic_edge_with_the_name_of_an_explicit_edge_is_error() -> None:
    streams = Streams("twice")
    keyed = streams.stream(ORDERS).select_key(customer_of)
    keyed.repartition(partitions=3).filter(is_dear_customer).group_by_key().count(store="dear")
    keyed.group_by_key().count()
    text = refused(streams.build)
    assert "'orders-by-customer-of-repartition' would be the name of repartition() at" in text


def is_dear_customer(_: str, order: Order) -> bool:
    return is_dear(b"", order)


def test_late_records_have_edge_for_aggregation() -> None:
    streams = Streams("late")
    counts = streams.stream(TEXTS).group_by_key().windowed_by(TumblingWindows(hours(1))).count()
    counts.late.map_values(lambda late: late.value, value=TEXT).group_by_key().count()
    counts.to_table(store="windows")
    assert edge_names(streams.build()) == ["texts-count-per-1h-late-repartition"]


def test_read_of_global_table_needs_no_edge() -> None:
    streams = Streams("global")
    devices = global_devices(streams)
    moved = streams.stream(TEXTS).select_key(lambda _, text: text)
    moved.process(Keep, reads=[devices]).to(OUT)
    assert edges(streams.build()) == []


def global_devices(streams: Streams) -> StoreSpec[TimestampedStore[int, str]]:
    spec = timestamped_store("devices", key=INT64, value=TEXT)
    streams.global_table(Topic("devices", INT64, TEXT), store=spec)
    return spec
