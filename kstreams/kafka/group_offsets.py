"""What a consumer group has committed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from kstreams.errors import BrokerUnavailableError, KafkaRequestError, Where
from kstreams.kafka.client_options import ClientOptions
from kstreams.kafka.consumers import Consumers
from kstreams.kafka.librdkafka import Consumer, KafkaException, TopicPartition
from kstreams.kafka.options import Kafka

__all__ = ("group_offset",)

_POLL_S = 0.05
_STEP_S = 5.0


def group_offset(
    connection: Kafka, group: str, topics: Iterable[str], *, patience: timedelta
) -> int | None:
    """Return the highest offset that a group has in partition 0 of some topics; None for none.

    Waits for transactions that are about to commit one. By a consumer: librdkafka 2.16 ends the
    process where an admin client asks while the group's coordinator is being found.

    Args:
        connection: The cluster.
        group: Id of the group.
        topics: Some that are there.
        patience: How long the cluster may be away.

    Raises:
        KafkaRequestError: This client may not see the group.
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
                return _ask(consumers, consumer, asked)
            except (BrokerUnavailableError, KafkaRequestError) as exc:
                if time.monotonic() > deadline or "AUTHORIZATION" in exc.code:
                    raise
            time.sleep(_POLL_S)
    finally:
        consumer.close()


def _ask(consumers: Consumers, consumer: Consumer, asked: list[TopicPartition]) -> int | None:
    try:
        found = consumer.committed(asked, timeout=_STEP_S)
    except KafkaException as exc:
        raise consumers.failure(exc.args[0], Where()) from None  # the cause could show a secret
    for each in found:
        if each.error is not None:
            raise consumers.failure(each.error, Where(topic=each.topic))
    return max((each.offset for each in found if each.offset >= 0), default=None)
