"""Replay of dead letters on a Kafka broker: record and replay mark are in one transaction."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from devtools.servers.kafka import KafkaBroker
from kstreams.errors import LimitError
from kstreams_dead_letters.replaying import Choice, replay_letters
from kstreams_kafka.options import Kafka
from kstreams_kafka.redelivery import KafkaRedelivery
from tests.support.topologies.dead_letter_topics import add, headers_of, records

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]

_DIES = """
import os, sys
from kstreams_kafka import redelivery
from kstreams_kafka.options import Kafka
from kstreams_dead_letters.replaying import replay_letters

original = redelivery.KafkaRedelivery._keep

def keep(self, *given):
    original(self, *given)
    os._exit(9)  # all is sent, and nothing is committed

redelivery.KafkaRedelivery._keep = keep
replay_letters(Kafka(sys.argv[1]), sys.argv[2])
"""


def test_each_dead_letter_is_replayed_once_despite_kill(broker: KafkaBroker) -> None:
    orders, dead = broker.create_topic("replayed", 2), broker.create_topic("dlq", 2)
    kafka = Kafka(broker.bootstrap)
    own = (("own", b"1"),)
    rows = ((b"k", b"%d" % n, (*own, *headers_of(orders, n % 2))) for n in range(4))
    add(kafka, dead, *rows)
    command = [sys.executable, "-c", _DIES, broker.bootstrap, dead]
    died = subprocess.run(command, env={**os.environ}, check=False)
    assert died.returncode == 9
    assert replay_letters(kafka, dead, dry_run=True).sent.total() == 4
    assert replay_letters(kafka, dead, Choice({"partition": "1"})).sent.total() == 2
    report = replay_letters(kafka, dead)
    assert (report.sent.total(), report.left) == (2, {"already replayed": 2})
    assert replay_letters(kafka, dead).left == {"already replayed": 4}
    found = records(kafka, orders)
    assert sorted((row.partition, row.value) for row in found) == [
        (0, b"0"),
        (0, b"2"),
        (1, b"1"),
        (1, b"3"),
    ]
    assert {row.headers for row in found} == {(*own, ("kstreams-replay", b"1"))}
    assert {row.timestamp for row in found} == {7}


def test_replay_mark_above_broker_limit_is_refused_before_sending(
    broker: KafkaBroker,
) -> None:
    dead = broker.create_topic("holes", 1)
    redelivery = KafkaRedelivery(Kafka(broker.bootstrap), dead, 1)
    redelivery.open()
    with pytest.raises(LimitError, match="brokers keep 4,000"):
        redelivery.send([], {0: ",".join(str(2 * n) for n in range(2000))})
    redelivery.close()
