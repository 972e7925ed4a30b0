"""A view of a Kafka topic: committed records, compacted or not, exact after restarts."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from devtools.servers.kafka import KafkaBroker
from kstreams import INT64, TEXT, Emitter, Topic
from kstreams.durations import seconds
from kstreams.views import TopicView
from kstreams_kafka.options import Kafka
from kstreams_rocksdb import RocksDB

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def test_view_of_topic_has_committed_records_and_continues_after_restart(
    broker: KafkaBroker, topic_name: str, tmp_path: Path
) -> None:
    kafka = Kafka(broker.bootstrap)
    kafka.admin().create(topic_name, 2, config={"cleanup.policy": "compact"})
    stock = Topic(topic_name, key=TEXT, value=INT64, nulls="pass")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic_name})
    producer.init_transactions()
    for value, commits in ((1, True), (2, False)):
        producer.begin_transaction()
        for key in ("a", "b", "c"):
            producer.produce(topic_name, value.to_bytes(8, "big"), key, partition=0)
        producer.flush()
        (producer.commit_transaction if commits else producer.abort_transaction)()
    with TopicView(stock, kafka, backend=RocksDB(), directory=tmp_path / "view") as view:
        view.wait_recovered(seconds(60))  # transaction markers end the partition
        assert dict(view.items()) == {"a": 1, "b": 1, "c": 1}
        assert view.get("a") == 1  # another partitioner may have placed the key
        assert all(each.lag == 0 for each in view.progress().values())
    with Emitter(stock, kafka) as emitter:
        emitter.emit_many([("d", 4), ("d", None), ("e", 5)])
    with TopicView(stock, kafka, backend=RocksDB(), directory=tmp_path / "view") as view:
        assert sum(each.offset for each in view.progress().values()) > 0
        assert dict(view.items()) == {"a": 1, "b": 1, "c": 1, "e": 5}
        assert view.get("e") == 5
