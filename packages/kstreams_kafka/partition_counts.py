"""Partition counts of the topics that are written, cached for a minute."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import Lock

from kstreams.errors import UnknownTopicError, Where
from kstreams_kafka.admin import KafkaAdmin
from kstreams_kafka.client_options import ClientOptions

__all__ = ("PartitionCounts",)

_FRESH_S = 60.0


class PartitionCounts:
    """Partition counts by topic, cached for a minute. Threads may share it.

    Args:
        options: Options of an admin client.
        timeout: The time limit for a broker's answer.
    """

    def __init__(
        self, options: ClientOptions, *, timeout: timedelta = timedelta(seconds=20)
    ) -> None:
        self._options = options
        self._timeout = timeout
        self._admin: KafkaAdmin | None = None
        self._known: dict[str, tuple[int, float]] = {}
        self._lock = Lock()

    def of(self, topic: str) -> int:
        """Return the number of partitions of a topic.

        Raises:
            UnknownTopicError: The topic does not exist; it is never created.
            BrokerUnavailableError: No broker answers.
        """
        found = self._known.get(topic)
        if found is not None and time.monotonic() < found[1]:
            return found[0]
        count = self.admin().partition_count(topic)
        self._known[topic] = count, time.monotonic() + _FRESH_S
        return count

    def admin(self) -> KafkaAdmin:
        """Return the admin client, opened at the first call."""
        with self._lock:
            if self._admin is None:
                self._admin = KafkaAdmin(self._options, timeout=self._timeout)
            return self._admin

    def unknown(self, topic: str) -> UnknownTopicError:
        """Return the error for a topic that does not exist."""
        return UnknownTopicError(
            f"topic {topic!r} does not exist",
            hint="create the topic first, or check the name.",
            where=Where(topic=topic),
        )

    def check(self, topic: str, partition: int) -> None:
        """Raise `UnknownTopicError` unless the topic has this partition."""
        count = self.of(topic)
        if not 0 <= partition < count:
            raise UnknownTopicError(
                f"topic {topic!r} has no partition {partition}, expected 0 to {count - 1}",
                where=Where(topic=topic, partition=partition),
            )

    def forget(self) -> None:
        """Clear the cache."""
        self._known.clear()
