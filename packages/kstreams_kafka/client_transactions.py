"""Transactions of the Python client's producer."""

from __future__ import annotations

from typing_extensions import override

from kstreams_kafka.librdkafka import Consumer, Producer, TopicPartition
from kstreams_kafka.outgoing import Transactions

__all__ = ("ClientTransactions",)


class ClientTransactions(Transactions):
    """Implements `Transactions` with the Python client.

    Args:
        producer: A producer with a transactional id.
        bootstrap: The addresses of the cluster.
    """

    def __init__(self, producer: Producer, bootstrap: str) -> None:
        self._producer = producer
        self._bootstrap = bootstrap

    @override
    def init(self, timeout_s: float) -> None:
        self._producer.init_transactions(timeout_s)

    @override
    def begin(self) -> None:
        self._producer.begin_transaction()

    @override
    def add_offset(
        self, group: str, topic: str, partition: int, offset: int, timeout_s: float
    ) -> None:
        # The client names a group by a consumer of it alone; this one asks the cluster nothing.
        consumer = Consumer({"group.id": group, "bootstrap.servers": self._bootstrap})
        try:
            self._producer.send_offsets_to_transaction(
                [TopicPartition(topic, partition, offset)],
                consumer.consumer_group_metadata(),
                timeout_s,
            )
        finally:
            consumer.close()

    @override
    def commit(self, timeout_s: float) -> None:
        self._producer.commit_transaction(timeout_s)

    @override
    def abort(self, timeout_s: float) -> None:
        self._producer.abort_transaction(timeout_s)
