"""The committed offsets of a consumer group."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from kstreams.errors import BrokerUnavailableError, KafkaRequestError, Where
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.consumers import Consumers
from kstreams_kafka.librdkafka import Consumer, KafkaException, TopicPartition
from kstreams_kafka.options import Kafka

__all__ = ("group_offset",)

_POLL_S = 0.05
_STEP_S = 5.0


def group_offset(
    connection: Kafka, group: str, topics: Iterable[str], *, patience: timedelta
) -> int | None:
    """Return the highest offset of a group in partition 0 of the topics; None without an offset.

    Waits for transactions that are about to commit an offset. The function uses a consumer, because
    librdkafka 2.16 aborts the process if an admin client requests offsets while it looks for the
    group's coordinator.

    Args:
        connection: The cluster.
        group: Id of the group.
        topics: Existing topics.
        patience: Time limit for retries while the cluster is unavailable.

    Raises:
        KafkaRequestError: This client may not read the group.
        BrokerUnavailableError: No broker answers.
    """
    own = ClientOptions({**connection.client_options("consumer"), "group.id": group})
    consumers = Consumers(own, lost="")
    asked = [TopicPartition(topic, 0) for topic in sorted({*topics})]
    deadline = time.monotonic() + patience.total_seconds()
    consumer = consumers.open()
    try:
        while True:
            try:
                return _committed_offset(consumers, consumer, asked)
            except (BrokerUnavailableError, KafkaRequestError) as exc:
                if time.monotonic() > deadline or "AUTHORIZATION" in exc.code:
                    raise
            time.sleep(_POLL_S)
    finally:
        consumer.close()


def _committed_offset(
    consumers: Consumers, consumer: Consumer, asked: list[TopicPartition]
) -> int | None:
    try:
        found = consumer.committed(asked, timeout=_STEP_S)
    except KafkaException as exc:
        raise consumers.failure(exc.args[0], Where()) from None  # the cause could show a secret
    for each in found:
        if each.error is not None:
            raise consumers.failure(each.error, Where(topic=each.topic))
    return max((each.offset for each in found if each.offset >= 0), default=None)
