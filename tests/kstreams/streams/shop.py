"""Topics, functions and views of topologies that the tests of streams share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kstreams import BYTES, INT64, TEXT, Topic, Topology
from kstreams.errors import TopologyError
from kstreams.topology import RepartitionNode
from kstreams_json import json_serde


@dataclass(frozen=True)
class Order:
    customer: str
    item: str
    price: float


ORDER = json_serde(Order)
ORDERS = Topic("orders", key=BYTES, value=ORDER)
TEXTS = Topic("texts", key=TEXT, value=TEXT)
NAMES = Topic("names", key=TEXT, value=TEXT)
NUMBERS = Topic("numbers", key=TEXT, value=INT64)
COUNTS = Topic("counts", key=TEXT, value=INT64)
OUT = Topic("out", key=TEXT, value=TEXT)


def customer_of(_: bytes, order: Order) -> str:
    return order.customer


def is_dear(_: bytes, order: Order) -> bool:
    return order.price > 100


def stores(topology: Topology) -> list[str]:
    return sorted(spec.name for spec in topology.stores)


def edges(topology: Topology) -> list[RepartitionNode]:
    found = [node for node in topology.nodes.values() if isinstance(node, RepartitionNode)]
    return sorted(found, key=lambda edge: edge.name)


def edge_names(topology: Topology) -> list[str]:
    return [edge.name for edge in edges(topology)]


def refused(make: Callable[[], object]) -> str:
    """Return the text of the error that a call raises."""
    with pytest.raises(TopologyError) as caught:
        make()
    return str(caught.value)


def line() -> str:
    """Return file and line of the call of this function, as messages show them."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{frame.f_back.f_code.co_filename.rpartition('/')[2]}:{frame.f_back.f_lineno}"
