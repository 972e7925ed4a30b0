"""Origins of nodes: in problems of the build, `describe`, errors of tasks and telemetry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kstreams import INT64, TEXT, Topic, TopologyBuilder, filter_, key_value_store, map_values
from kstreams.batch.messages.error_json import from_json, to_json
from kstreams.errors import KStreamsError, ProcessingError, TopologyError
from kstreams.state.log.fields import Fields
from kstreams.telemetry.failures import Failure
from kstreams.telemetry.outline import Outline
from kstreams.topology import CallSite, Topology
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.test_call_site import HOSTILE

LINES = Topic("lines", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
SHOP = "shop.py"


def halved(value: int) -> int:
    return 100 // value


def made(*, file: str = SHOP, with_origins: bool = True) -> Topology:
    builder = TopologyBuilder("shop")

    def at(line: int) -> Any:
        return builder.origin(CallSite(file if with_origins else "other.py", line))

    lines = builder.add_source("lines", LINES)
    with at(2):
        halves = builder.add_processor("halve", map_values(halved), lines)
        with at(3):
            edge = builder.repartition("edge", halves, key=TEXT, value=INT64)
        even = builder.add_processor("even", filter_(lambda _, v: v % 2 == 0), edge)
    builder.add_sink("out", OUT, even)
    return builder.build()


def failure() -> KStreamsError:
    with TopologyTestDriver(made()) as driver, pytest.raises(ProcessingError) as caught:
        driver.pipe(LINES, "a", 0)
    return caught.value


def test_nodes_have_the_origin_of_the_innermost_origin_block() -> None:
    nodes = made().nodes
    found = {name: node.origin for name, node in nodes.items()}
    two, three = CallSite(SHOP, 2), CallSite(SHOP, 3)
    assert found == {"lines": None, "halve": two, "edge": three, "even": two, "out": None}


def test_origins_of_nodes_do_not_change_the_topology() -> None:
    one, other = made(), made(with_origins=False)
    assert one.fingerprint() == other.fingerprint()
    assert one.shape() == other.shape()
    sink = one.nodes["out"]
    assert sink == other.nodes["out"]


def test_origin_block_that_raises_adds_its_origin_to_the_error_and_ends() -> None:
    builder = TopologyBuilder("shop")
    lines = builder.add_source("lines", LINES)
    wrong: Any = 7
    shown = pytest.raises(TopologyError, match=r"\[defined at 'shop.py:4'\]")
    with shown as caught, builder.origin(CallSite(SHOP, 4)):
        builder.add_processor("wrong", wrong, lines)
    assert caught.value.where.origin == "shop.py:4"
    builder.add_sink("out", OUT, lines)
    assert builder.build().nodes["out"].origin is None


def test_error_raised_in_origin_block_keeps_its_class() -> None:
    builder = TopologyBuilder("shop")
    with pytest.raises(KeyError), builder.origin(CallSite(SHOP, 4)):
        raise KeyError("a")


def test_problems_of_build_have_the_origins_of_their_nodes() -> None:
    builder = TopologyBuilder("shop")
    other = TopologyBuilder("other").add_source("there", LINES)
    with builder.origin(CallSite(SHOP, 4)):
        lines = builder.add_source("lines", LINES)
        builder.add_processor("foreign", filter_(lambda _, v: v > 0), other)
    with builder.origin(CallSite(SHOP, 5)):
        first = builder.add_source("again", LINES)
        builder.add_sink("out", OUT, lines, first)
        builder.add_sink("out", OUT, lines)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert caught.value.problems == (
        "node 'foreign': parent 'there' belongs to another builder ['foreign' at shop.py:4]",
        "node 'foreign': unknown parent 'there' ['foreign' at shop.py:4]",
        "two nodes are named 'out', again at shop.py:5 ['out' at shop.py:5]",
    )


def test_problem_about_two_nodes_has_both_origins_in_its_order() -> None:
    builder = TopologyBuilder("shop")
    with builder.origin(CallSite(SHOP, 9)):
        one = builder.add_source("one", LINES)
    with builder.origin(CallSite(SHOP, 4)):
        two = builder.add_source("two", LINES)
    builder.add_sink("out", OUT, one, two)
    with pytest.raises(TopologyError, match=r"\['one' at shop.py:9, 'two' at shop.py:4\]"):
        builder.build()


def test_problems_without_origins_are_unchanged() -> None:
    builder = TopologyBuilder("shop")
    builder.add_source("lines", LINES)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert caught.value.problems == ("nothing reads from 'lines'",)


def test_problem_of_two_stores_has_the_call_of_each_node() -> None:
    builder = TopologyBuilder("shop")
    lines = builder.add_source("lines", LINES)
    for line, value in ((4, TEXT), (5, INT64)):
        store: Any = key_value_store("counts", key=TEXT, value=value)
        with builder.origin(CallSite(SHOP, line)):
            keep: Any = filter_(lambda _, v: v > 0)
            node = builder.add_processor(f"node{line}", keep, lines, stores=[store])
        builder.add_sink(f"out{line}", OUT, node)
    with pytest.raises(TopologyError, match=r"\['node4' at shop.py:4, 'node5' at shop.py:5\]"):
        builder.build()


def test_describe_shows_origins() -> None:
    text = made().describe()
    assert text.count("defined at: shop.py:2\n") == 2
    assert text.count("defined at: shop.py:3\n") == 1


def test_describe_escapes_the_file() -> None:
    text = made(file=HOSTILE).describe()
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(made().describe().splitlines())


def test_error_of_a_node_has_its_origin() -> None:
    error = failure()
    assert (error.where.node, error.where.origin) == ("halve", "shop.py:2")
    assert "node 'halve', defined at 'shop.py:2'" in str(error)


def test_error_sent_from_worker_to_driver_keeps_its_origin() -> None:
    found = from_json(json.loads(json.dumps(to_json(failure(), 1_000))))
    assert found.where.origin == "shop.py:2"


def test_failure_keeps_the_origin_in_telemetry() -> None:
    failed = Failure.of(failure(), ms=1, run="r", texts=False)
    read = Failure.from_json(Fields(json.loads(json.dumps(failed.to_json()))))
    assert read.where["origin"] == "shop.py:2"


def test_outline_has_origins_and_outline_without_origins_can_be_read() -> None:
    topology = made()
    outline = Outline.of(topology, {group.name: 1 for group in topology.groups})
    data = json.loads(json.dumps(outline.to_json()))
    read = Outline.from_json(Fields(data))
    assert read == outline
    origins = [node.origin for group in read.groups for node in group.nodes]
    assert origins == ["", "shop.py:2", "shop.py:3", "shop.py:2", ""]
    for group in data["groups"]:
        for node in group["nodes"]:
            del node["origin"]
    assert Outline.from_json(Fields(data)).groups[0].nodes[1].origin == ""
