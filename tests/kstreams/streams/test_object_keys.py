"""Keys that are objects: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, Serde, Topic, Topology
from kstreams.aggregators import sum_
from kstreams.columns.keys import KeyCodes
from kstreams.emit import each_update
from kstreams.errors import KStreamsError
from kstreams.operators import columns
from kstreams.serde.composite import TupleSerde
from kstreams.serde.encoded_type import EncodedType
from kstreams.serde.text import TEXT
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams_avro import avro_serde
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from tests.support.topologies.executions import ByRecord, python_calls


@dataclass(frozen=True)
class Place:
    """A key with a field whose integers and floats are equal."""

    region: str
    size: float


class Struct(msgspec.Struct, frozen=True):
    """A key of another kind of class."""

    region: str
    size: float


@dataclass(frozen=True)
class Order:
    """A value with an object that is a key."""

    region: str
    size: float
    price: float
    place: Place


ORDER = json_serde(Order)
ORDERS = Topic("orders", BYTES, ORDER)
KEYS: dict[str, Serde[Any]] = {
    "json": json_serde(Place),
    "avro": avro_serde(Place),
    "msgpack": msgpack_serde(Place),
    "struct": json_serde(Struct),
}


def place_of(_: bytes, order: Order) -> Place:
    return Place(order.region, order.size)


def struct_of(_: bytes, order: Order) -> Struct:
    return Struct(order.region, order.size)


def made(streams: Streams, key: Serde[Any]) -> None:
    function: Any = columns(struct_of if key is KEYS["struct"] else place_of)
    keyed = streams.stream(ORDERS).select_key(function, key=key)
    some = keyed.filter(columns(lambda place, order: place.size > order.price))
    some.group_by_key().count().to(Topic("out", key, INT64))


def field(streams: Streams, key: Serde[Any]) -> None:
    keyed: Any = streams.stream(ORDERS).group_by(columns(lambda _, order: order.place), key=key)
    keyed.over(columns(lambda order: order.price)).aggregate(sum_(DOUBLE)).to(
        Topic("out", key, DOUBLE), emit=each_update()
    )


def table(streams: Streams, key: Serde[Any]) -> None:
    keyed: Any = streams.stream(ORDERS).group_by(columns(lambda _, order: order.place), key=key)
    counts = keyed.count().filter(columns(lambda place, count: count % 2 == 1))
    counts.to(Topic("out", key, INT64, nulls="pass"))


def of_source(streams: Streams, key: Serde[Any]) -> None:
    placed = streams.stream(Topic("placed", key, ORDER))
    placed.filter(columns(lambda _, order: order.price > 1)).group_by_key().count().to(
        Topic("out", key, INT64)
    )


SHAPES: dict[str, Callable[[Streams, Serde[Any]], None]] = {
    each.__name__: each for each in (made, field, table, of_source)
}
FORMS = [
    (name, form)
    for name in SHAPES
    for form in KEYS
    if form != "struct" or name in ("made", "of_source")
]
SIZES = st.sampled_from([0.0, -0.0, 1.0, 2.5])
REGIONS = st.sampled_from(["", "a", "\U0001f600"])
PRICES = st.floats(-3, 3)
ROWS = st.builds(Order, REGIONS, SIZES, PRICES, st.builds(Place, REGIONS, SIZES))
BATCHES = st.lists(st.lists(ROWS, max_size=10), max_size=3)


def topology_of(name: str, form: str) -> Topology:
    streams = Streams("t")
    SHAPES[name](streams, KEYS[form])
    return streams.build()


def outcome(name: str, form: str, rows: list[list[Order]], *, records: bool) -> Any:
    """Run batches; return all output as bytes, or None if a batch failed."""
    interceptors: Any = [ByRecord()] if records else []
    topology, key = topology_of(name, form), KEYS[form]
    with TopologyTestDriver(topology, partitions=2, interceptors=interceptors) as driver:
        try:
            for batch in rows:
                for number, order in enumerate(batch):
                    data = ORDER.serialize(order)
                    if name == "of_source":
                        place: Any = Struct if form == "struct" else Place
                        own = key.serialize(place(order.region, order.size))
                        driver.write_bytes("placed", own, data, timestamp=number)
                    else:
                        driver.write_bytes("orders", b"%d" % number, data, timestamp=number)
                driver.run()
        except KStreamsError:
            return None
        return [(r.partition, r.key, r.value, r.timestamp) for r in driver.read_rows("out")]


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.sampled_from(FORMS), BATCHES)
def test_object_keys_give_same_bytes_by_columns_and_by_records(
    case: tuple[str, str], rows: list[list[Order]]
) -> None:
    by_columns = outcome(*case, rows, records=False)
    assert by_columns == outcome(*case, rows, records=True)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_steps_with_object_keys_run_by_columns(name: str, form: str) -> None:
    text = topology_of(name, form).describe()
    assert "execution: columns" in text
    assert "execution: records" not in text
    if name in ("made", "of_source"):
        assert "decoded to objects" not in text


def test_chain_with_made_keys_makes_no_python_call_per_record() -> None:
    totals = []
    for number in (300, 600):
        with TopologyTestDriver(topology_of("made", "json")) as driver:
            for row in range(number):
                order = Order("ab"[row % 2], 2.0, 1.0, Place("a", 1.0))
                driver.write(ORDERS, b"k", order, timestamp=0)
            with python_calls() as calls:
                driver.run()
        totals.append(sum(calls.values()))
    assert totals[1] - totals[0] < 100, totals


def test_key_codes_merge_encodings_of_one_key() -> None:
    data = [b'{"region":"a","size":1}', b'{"size": 1.0, "region": "a"}', b'{"region":"b","size":2}']
    place = KEYS["json"]
    kind = EncodedType(place)
    codes = KeyCodes(pa.array([data[2], *data], pa.binary()), place, kind)
    assert codes.codes.tolist() == [1, 0, 0, 1]
    assert codes.stored.to_pylist() == [b'{"region":"a","size":1.0}', b'{"region":"b","size":2.0}']
    assert codes.typed.storage == codes.stored


def test_key_codes_sort_tuples_as_stores_do() -> None:
    pair: Serde[Any] = TupleSerde(TEXT, INT64)
    keys = [("b", -1), ("a", 5), ("a", -5), ("a", 5)]
    codes = KeyCodes(pa.array(map(pair.serialize, keys), pa.binary()), pair, EncodedType(pair))
    stored = codes.stored.to_pylist()
    assert stored == sorted(stored)
    assert [codes.typed.storage[code].as_py() for code in codes.codes] == [
        pair.serialize(key) for key in keys
    ]
