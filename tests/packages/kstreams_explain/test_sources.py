"""Records are read again from Kafka and from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from devtools.servers.kafka import KafkaBroker
from kstreams import TEXT, Topology, TopologyBuilder
from kstreams.operators import map_
from kstreams.sources import Lines, folder
from kstreams_explain.traced import trace_record
from kstreams_kafka.options import Kafka
from tests.packages.kstreams_explain.test_explained import check_chain, lines, values
from tests.support.apps.replayed_app import Explained
from tests.support.topologies import explained_topologies as made


@pytest.mark.kafka
def test_audit_replays_batches_of_kafka_until_their_records_are_deleted(
    tmp_path: Path, broker: KafkaBroker
) -> None:
    broker.create_topic("lines", 2)
    broker.create_topic("totals", 2)
    app = Explained(tmp_path, made.words(), topics=Kafka(broker.bootstrap))
    app.batch(lines("a b", "a", at=1))
    app.batch(lines("b a", at=9))
    found = app.explain(made.COUNTS, "a", every=True)
    check_chain(found)
    assert values(found.history.last) == [3]
    origin = found.explained[0].steps[0].origin
    assert origin is not None
    trace = trace_record(app.replayed(), "lines", origin.partition, origin.offset)
    assert {step.what for step in trace.batches[0].steps} == {"entered", "left", "wrote"}
    assert {(each.differs, each.not_run) for each in app.audit()} == {("", "")}
    ends = app.hand.topics.admin().end_offsets("lines")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    gone = admin.delete_records([TopicPartition("lines", p, end) for p, end in ends.items()])
    for future in gone.values():
        future.result(20)
    (change,) = app.explain(made.COUNTS, "a").explained
    assert "records were deleted" in change.not_run
    assert [read.topic for read in change.ranges] == ["lines"]
    assert change.change.after == ((3,),)
    for topic in ("lines", "totals"):  # other tests use these names on this broker
        app.hand.topics.admin().delete(topic)


def from_files(home: Path) -> Topology:
    """Count the lines of files."""
    builder = TopologyBuilder("filed")
    log = folder("words", home / "in", Lines(TEXT), partitions=1)
    words = builder.add_source("words", log)
    node = builder.add_processor("keyed", map_(lambda _, line: (line, line)), words)
    edge = builder.repartition("by-word", node, key=TEXT, value=TEXT)
    builder.add_processor("count", made.Count, edge, stores=[made.COUNTS])
    return builder.build()


def test_audit_replays_batches_that_read_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("a\nb\na\n")
    os.utime(tmp_path / "in" / "1.txt", (1, 1))
    app = Explained(tmp_path, from_files(tmp_path))
    app.batch()
    found = app.explain(made.COUNTS, "a")
    check_chain(found)
    assert [str(step.origin) for step in found.explained[0].steps] == ["words/0@0", "words/0@2"]
    assert {(each.differs, each.not_run) for each in app.audit()} == {("", "")}
    (tmp_path / "in" / "1.txt").unlink()
    (change,) = app.explain(made.COUNTS, "a").explained
    assert "1.txt" in change.not_run
