"""Sources remove frames before all other steps, and sinks add them."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import TEXT, DeadLetter, Processor, Record, Topic, TopologyBuilder
from kstreams.aggregators import count
from kstreams.errors import DeserializationError, RegistryUnavailableError
from kstreams.io import HeaderFrames
from kstreams.operators import aggregate, map_values
from kstreams.processors.on_error import OnError
from kstreams.serde import INT64
from kstreams.stores import key_value_store, timestamped_store
from kstreams.testing import TopologyTestDriver
from tests.support.serdes.versioned_frame import VersionedText

IN = Topic("in", key=TEXT, value=VersionedText())
OUT = Topic("out", key=TEXT, value=VersionedText())
IN_HEADERS = HeaderFrames(key="k-id", value="v-id")


def same(value: str) -> str:
    return value


def mapped(source: Topic[str, str], sink: Topic[str, str], on_error: OnError = "fail") -> Any:
    builder = TopologyBuilder("framed")
    read = builder.add_source("read", source, on_error=on_error)
    done = builder.add_processor("same", map_values(same), read)
    builder.add_sink("write", sink, done)
    return builder.build()


def test_values_of_all_frame_versions_are_read_and_latest_version_is_written() -> None:
    with TopologyTestDriver(mapped(IN, OUT)) as driver:
        for value in (b"\x01ab", b"\x02ab"):
            driver.write_bytes("in", b"k", value, timestamp=1)
        driver.run()
        assert [row.value for row in driver.read_rows("out")] == [b"\x01ab", b"\x01ba"]


def test_serde_learns_all_frames_of_batch_before_first_row_is_converted() -> None:
    serde = VersionedText()
    with TopologyTestDriver(mapped(Topic("in", TEXT, serde), OUT), partitions=2) as driver:
        driver.write_bytes("in", b"k", b"\x01ab", timestamp=1, partition=0)
        driver.write_bytes("in", b"k", b"\x02ab", timestamp=1, partition=0)
        driver.run()
    assert serde.learned == [b"\x01", b"\x02"]
    assert serde.prepared == [False]


@pytest.mark.parametrize("policy", ["skip", DeadLetter("letters")])
def test_unavailable_registry_fails_batch_with_any_policy(policy: OnError) -> None:
    with TopologyTestDriver(mapped(IN, OUT, policy)) as driver:
        driver.write_bytes("in", b"k", b"\x01ab", timestamp=1)
        driver.write_bytes("in", b"k", b"\x09ab", timestamp=1)
        with pytest.raises(RegistryUnavailableError):
            driver.run()


def test_dead_letter_has_frame_of_its_topic() -> None:
    source = Topic("in", TEXT, VersionedText(), framing=IN_HEADERS)
    with TopologyTestDriver(mapped(source, OUT, DeadLetter("letters"))) as driver:
        given = (("v-id", b"\x07"), ("trace", b"t"))
        driver.write_bytes("in", b"k", b"ab", timestamp=1, headers=given)
        driver.write_bytes("in", b"k", b"\x01good", timestamp=1)
        driver.run()
        (letter,) = driver.read_rows("letters")
        assert (letter.key, letter.value, letter.headers[:2]) == (b"k", b"ab", given)
        assert dict(letter.headers)["kstreams-error-offset"] == b"0"
        assert [row.value for row in driver.read_rows("out")] == [b"\x01good"]


def test_each_undecodable_row_among_valid_ones_is_found() -> None:
    with TopologyTestDriver(mapped(IN, OUT, "skip")) as driver:
        for number in range(100):
            version = b"\x07" if number % 7 == 3 else b"\x01"
            driver.write_bytes("in", b"k", version + b"%d" % number, timestamp=1)
        driver.run()
        good = [b"\x01%d" % number for number in range(100) if number % 7 != 3]
        assert [row.value for row in driver.read_rows("out")] == good
        assert driver.dropped == {"skipped-DeserializationError": 14}


def test_error_of_invalid_frame_names_its_place() -> None:
    with TopologyTestDriver(mapped(IN, OUT)) as driver:
        driver.write_bytes("in", b"k", b"\x01a", timestamp=1)
        driver.write_bytes("in", b"k", b"\x07a", timestamp=1)
        with pytest.raises(DeserializationError, match="value: no version") as caught:
            driver.run()
    assert (caught.value.where.topic, caught.value.where.offset) == ("in", 1)


def test_frames_in_headers_are_written_there_and_hidden_from_processors() -> None:
    seen: list[Record[str, str]] = []

    class Look(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            seen.append(record)
            self.context.forward(record)

    source = Topic("in", TEXT, VersionedText(), framing=IN_HEADERS)
    sink = Topic("out", TEXT, VersionedText(), framing=IN_HEADERS)
    builder = TopologyBuilder("headers")
    look = builder.add_processor("look", Look, builder.add_source("read", source))
    builder.add_sink("write", sink, look)
    with TopologyTestDriver(builder.build()) as driver:
        headers = (("a", b"1"), ("v-id", b"\x02"))
        driver.write_bytes("in", b"k", b"ab", timestamp=1, headers=headers)
        driver.run()
        (row,) = driver.read_rows("out")
        assert (seen[0].value, seen[0].headers) == ("ba", (("a", b"1"),))
        assert (row.value, row.headers) == (b"ba", (("a", b"1"), ("v-id", b"\x01\x01")))
        driver.write(source, "k", "xy", timestamp=2)
        driver.run()
        assert [record.value for record in driver.read(sink)] == ["xy"]


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_tombstone_of_framed_topic_has_no_frame(on_error: OnError) -> None:
    source: Topic[str, str | None] = Topic("in", TEXT, VersionedText(), nulls="pass")
    sink: Topic[str, str | None] = Topic(
        "out", TEXT, VersionedText(), nulls="pass", framing=IN_HEADERS
    )
    builder = TopologyBuilder("nulls")
    builder.add_sink("write", sink, builder.add_source("read", source, on_error=on_error))
    with TopologyTestDriver(builder.build()) as driver:
        driver.write_bytes("in", b"k", None, timestamp=1)
        driver.write_bytes("in", b"k", b"\x01", timestamp=1)
        driver.run()
        found = [(row.value, row.headers) for row in driver.read_rows("out")]
        assert found == [(None, ()), (b"", (("v-id", b"\x01\x01"),))]


def test_framed_key_is_stored_without_frame_by_column_count() -> None:
    source = Topic("in", VersionedText(), INT64)
    store = timestamped_store("counts", key=VersionedText(), value=INT64)
    builder = TopologyBuilder("counts")
    read = builder.add_source("read", source)
    counted = builder.add_processor("count", aggregate(count(), store=store), read)
    builder.add_sink("write", Topic("out", TEXT, INT64), counted)
    with TopologyTestDriver(builder.build()) as driver:
        for key in (b"\x01ab", b"\x02ba", b"\x01ab"):
            driver.write_bytes("in", key, INT64.serialize(1), timestamp=1)
        driver.run()
        assert driver.store(store).get("ab") == (3, 1)


def test_repartition_removes_frame() -> None:
    builder = TopologyBuilder("edge")
    read = builder.add_source("read", Topic("in", VersionedText(), VersionedText()))
    key, value = VersionedText(), VersionedText()
    moved = builder.repartition("moved", read, key=key, value=value)
    builder.add_sink("write", Topic("out", VersionedText(), VersionedText()), moved)
    topology = builder.build()
    (edge,) = (edge for group in topology.groups for edge in group.entries)
    assert (edge.key, edge.value) == (TEXT, TEXT)
    with TopologyTestDriver(topology) as driver:
        driver.write_bytes("in", b"\x02ab", b"\x02cd", timestamp=1)
        driver.run()
        assert [(r.key, r.value) for r in driver.read_rows("out")] == [(b"\x01ba", b"\x01dc")]


def test_build_warns_of_store_shared_by_topics_with_framed_keys() -> None:
    builder = TopologyBuilder("meeting")
    store = key_value_store("seen", key=TEXT, value=TEXT)
    for name in ("left", "right"):
        read = builder.add_source(name, Topic(name, VersionedText(), TEXT))
        builder.add_processor(f"{name}-keep", map_values(same), read, stores=[store])
    with pytest.warns(UserWarning, match="keys of 'left' .* have a frame"):
        builder.build()


def test_build_allows_store_shared_by_topics_with_key_frames_in_headers() -> None:
    builder = TopologyBuilder("meeting")
    store = key_value_store("seen", key=TEXT, value=TEXT)
    for name in ("left", "right"):
        topic = Topic(name, VersionedText(), TEXT, framing=IN_HEADERS)
        read = builder.add_source(name, topic)
        builder.add_processor(f"{name}-keep", map_values(same), read, stores=[store])
    builder.build()  # warnings are errors here


def test_time_extractor_receives_records_without_frames() -> None:
    def time(record: Record[str, str]) -> int:
        return len(record.value)

    builder = TopologyBuilder("times")
    read = builder.add_source("read", IN, on_error="skip", event_time=time)
    builder.add_sink("write", OUT, read)
    with TopologyTestDriver(builder.build()) as driver:
        for value in (b"\x01abc", b"\x07bad", b"\x02de"):
            driver.write_bytes("in", b"k", value, timestamp=1)
        driver.run()
        assert [(r.value, r.timestamp) for r in driver.read_rows("out")] == [
            (b"\x01abc", 3),
            (b"\x01ed", 2),
        ]
