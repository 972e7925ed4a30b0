"""The build of streams: problems, pictures, handles of the builder, imports and time."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

import pytest

from kstreams import INT64, TEXT, Topic, map_values
from kstreams.durations import minutes
from kstreams.errors import OptionError, TopologyError
from kstreams.graph.depth import MAX_DEPTH
from kstreams.streams import Streams, classes
from kstreams.testing import TopologyTestDriver
from tests.kstreams.streams.shop import (
    COUNTS,
    NAMES,
    NUMBERS,
    ORDERS,
    OUT,
    TEXTS,
    Order,
    edge_names,
    line,
    refused,
    stores,
)


def test_build_reports_stream_that_nothing_uses_with_its_line() -> None:
    streams = Streams("unused")
    texts = streams.stream(TEXTS)
    texts.filter(lambda _, text: text != ""); here = line()  # fmt: skip  # noqa: E702
    texts.to(OUT)
    assert (
        f"nothing uses the result of filter(a lambda) at {here}: a method returns a new "
        "stream and does not change its own stream" in refused(streams.build)
    )


def test_build_reports_unused_source_and_grouped_stream() -> None:
    streams = Streams("unused")
    streams.stream(NAMES)
    streams.stream(TEXTS).group_by(lambda _, text: text)
    text = refused(streams.build)
    assert "nothing uses the result of stream('names') at test_build.py:" in text
    assert "nothing uses the result of group_by(a lambda) at test_build.py:" in text


def test_build_accepts_unused_peek_branch_process_and_table() -> None:
    streams = Streams("used")
    texts = streams.stream(TEXTS)
    texts.peek(lambda _, text: None)
    texts.split(lambda _, text: text == "")[0].to(OUT)
    texts.group_by_key().count()
    streams.table(NAMES)
    assert stores(streams.build()) == ["names", "texts-count"]


def test_build_reports_problems_of_plan_and_builder_together() -> None:
    streams = Streams("both")
    texts = streams.stream(TEXTS)
    texts.filter(lambda _, text: text != "")
    streams.loop("open", key=TEXT, value=TEXT).to(OUT)
    with pytest.raises(TopologyError) as caught:
        streams.build()
    assert len(caught.value.problems) == 2
    assert "topology 'both' has 2 problems:" in str(caught.value)


def test_build_can_be_repeated_with_further_steps() -> None:
    streams = Streams("again")
    texts = streams.stream(TEXTS)
    texts.to(OUT)
    first = streams.build()
    texts.group_by_key().count()
    assert [stores(first), stores(streams.build())] == [[], ["texts-count"]]


def test_same_source_twice_is_one_stream_and_with_other_options_an_error() -> None:
    streams = Streams("source")
    one = streams.stream(TEXTS)
    assert streams.stream(TEXTS) is one
    one.to(OUT)
    streams.stream(TEXTS, start="latest").to(COUNTS.__class__("other", TEXT, TEXT))
    assert "'texts' would be the name of stream('texts') at" in refused(streams.build)


def test_join_of_stream_without_range_of_times_is_error_with_hint() -> None:
    streams = Streams("join")
    texts = streams.stream(TEXTS)
    text = refused(lambda: texts.join(texts, lambda one, two: one + two))  # type: ignore[arg-type]
    assert "got a Stream without a range of times" in text
    assert "Hint: join(other.within(minutes(5), grace=minutes(1)), ...)" in text


def test_second_over_and_cogroup_after_over_are_errors() -> None:
    grouped = Streams("over").stream(TEXTS).group_by_key().over(len)
    assert "is the second over(...) of a stream" in refused(lambda: grouped.over(lambda n: n + 1))
    text = refused(lambda: grouped.cogroup(lambda old, record: record.value, state=INT64))
    assert "follows over(...), but an update gets complete records" in text


def test_supplier_of_no_processor_is_error_of_process() -> None:
    texts = Streams("process").stream(TEXTS)
    text = refused(lambda: texts.process(lambda: 5))  # type: ignore[arg-type, return-value]
    assert "got a supplier of int, expected a Processor" in text


def test_classes_rejects_a_single_class_and_objects_that_are_not_classes() -> None:
    assert "expected 2, 3 or 4 classes" in refused(lambda: classes(Order))  # type: ignore[call-overload]
    assert "expected 2, 3 or 4 classes" in refused(lambda: classes(1, 2))  # type: ignore[call-overload]


def test_invalid_option_is_error_of_build_or_call() -> None:
    texts = Streams("options").stream(TEXTS)
    with pytest.raises(OptionError, match="execution is 'fast'"):
        texts.group_by_key().count(execution="fast")  # type: ignore[arg-type]


def test_notebook_shows_text_and_diagram_of_streams_tables_and_topology() -> None:
    streams = Streams("pictures")
    texts = streams.stream(TEXTS)
    shown = texts.map_values(len)
    counts = texts.group_by_key().count()
    for each in (streams, shown, counts):
        found = each._repr_mimebundle_(include=None, exclude=None)
        assert "texts-count" in found["text/plain"]
        assert found["text/vnd.mermaid"].startswith("flowchart")
    assert "<Stream of map_values(len) at test_build.py:" in repr(shown)
    shown.to(NUMBERS)
    topology = streams.build()
    assert topology._repr_mimebundle_()["text/plain"] == topology.describe()


def test_notebook_shows_problems_if_topology_cannot_be_built() -> None:
    streams = Streams("empty")
    assert "there is no source" in streams._repr_mimebundle_()["text/plain"]


def test_picture_does_not_change_topology() -> None:
    def build(*, shown: bool) -> str:
        streams = Streams("same")
        texts = streams.stream(TEXTS)
        counts = texts.group_by(lambda _, text: text).count()
        if shown:
            counts._repr_mimebundle_()
        counts.to(COUNTS)
        return streams.build().describe()

    assert build(shown=True) == build(shown=False)


def test_nodes_of_builder_and_streams_are_combined() -> None:
    streams = Streams("combined")
    texts = streams.stream(TEXTS).filter(lambda _, text: text != "")
    loud = streams.builder.add_processor("loud", map_values(str.upper), texts.node())
    again = streams.from_node(loud, key=TEXT, value=TEXT)
    again.group_by_key().count().to(COUNTS)
    again.to(OUT)
    names = streams.table(NAMES)
    changes = streams.builder.to_stream("changes", names.node())
    streams.builder.add_sink("out-names", Topic("copies", TEXT, TEXT, nulls="pass"), changes)
    topology = streams.build()
    assert edge_names(topology) == ["loud-repartition"]
    with TopologyTestDriver(topology) as driver:
        driver.pipe(TEXTS, "a", "x")
        driver.pipe(TEXTS, "a", "")
        assert driver.read_values(OUT) == {"a": "X"}
        assert driver.read_values(COUNTS) == {"a": 1}


def test_stream_of_node_without_serdes_is_error_where_these_are_needed() -> None:
    streams = Streams("node")
    again = streams.from_node(streams.stream(TEXTS).node())
    text = refused(again.group_by_key().count)
    assert (
        "needs the serdes of the keys and the values, but the call does not give it: "
        "from_node('texts') at" in text
    )
    assert "(-> ...), or pass key=... and value=... there." in text


def test_import_of_kstreams_does_not_import_streams() -> None:
    code = "import sys, kstreams, kstreams.topology; print('kstreams.streams' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_thousand_steps_are_built_in_less_than_two_seconds() -> None:
    pairs = min(500, MAX_DEPTH // 2 - 5)
    start = perf_counter()
    streams = Streams("long")
    stream = streams.stream(TEXTS)
    for _ in range(pairs):
        stream = stream.map_values(lambda text: text).filter(lambda _, text: text != "")
    stream.group_by_key().count(ttl=minutes(1)).to(COUNTS)
    topology = streams.build()
    assert len(topology.nodes) > 2 * pairs
    assert perf_counter() - start < 2  # 0.3 s when nothing else runs


def test_orders_are_read_once_by_all_streams() -> None:
    streams = Streams("once")
    streams.stream(ORDERS).group_by(lambda _, order: order.item).count()
    streams.stream(ORDERS).group_by(lambda _, order: order.customer).count()
    assert [source.name for source in streams.build().sources] == ["orders"]


def test_nodes_have_file_and_line_of_their_call() -> None:
    streams = Streams("shop")
    orders = streams.stream(ORDERS); first = line()  # fmt: skip  # noqa: E702
    grouped = orders.group_by(lambda _, order: order.customer)
    grouped.count(); second = line()  # fmt: skip  # noqa: E702
    described = streams.build().describe()
    assert f"defined at: {first}" in described.split("Source: orders (")[1]
    assert f"defined at: {second}" in described.split("Processor: orders-by-customer-count (")[1]
