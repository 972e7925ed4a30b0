"""Intakes to topics of a cluster: refused records affect no others, and ids are found again."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from kstreams import BYTES, Topic
from kstreams.intakes import MESSAGE_ID, Delivery, IntakeReport, IntakeRunner
from kstreams.io import Kafka
from kstreams.topology import DeadLetter
from tests.support.intakes.scripted_intake import Scripted
from tests.support.servers.fixtures import Broker

pytestmark = pytest.mark.kafka


def test_intake_record_refused_by_cluster_affects_no_other_record(
    broker: Broker, topic_name: str
) -> None:
    broker.create_topic(topic_name, 2, {"max.message.bytes": "2000"})
    broker.create_topic(f"{topic_name}-letters", 1, {"max.message.bytes": "2000"})
    connection = Kafka(broker.bootstrap)
    topic = Topic(topic_name, key=BYTES, value=BYTES, null_keys="pass")
    source = Scripted()
    chance = random.Random(1)
    source.put(b"a", chance.randbytes(5_000), b"b", chance.randbytes(5_000), b"c", ids="12345")
    source.add(Delivery(b"d", 0, "6", headers=(("nul\0", b""),)))

    def run(count: int) -> IntakeReport:
        def look(report: IntakeReport) -> None:
            if report.received == count:
                runner.stop()

        letters = DeadLetter(f"{topic_name}-letters")
        runner = IntakeRunner(source, topic, connection, on_error=letters, on_report=look)
        return runner.run(timeout=timedelta(seconds=60))

    report = run(6)
    assert (report.appended, report.dead_letters) == (3, 3)
    source.put(b"c", b"d", b"a", ids="571")
    report = run(3)
    assert (report.appended, report.duplicates) == (1, 2)
    reader = connection.reader()
    ends = connection.admin().end_offsets(topic_name)
    found = [r for p, end in ends.items() for r in reader.read(topic_name, p, 0, end)]
    assert sorted(dict(r.headers)[MESSAGE_ID] or b"" for r in found) == [b"1", b"3", b"5", b"7"]
    aside = [*reader.read(f"{topic_name}-letters", 0, 0, 3)]
    assert [dict(r.headers)[MESSAGE_ID] for r in aside] == [b"2", b"4", b"6"]
    assert [r.value for r in aside] == [None, None, b"d"]
    reader.close()
