"""The limits of Kafka topics, from their configuration."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace

from kstreams.errors import KStreamsError, UnknownTopicError
from kstreams.topic_limits import TopicLimits
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.partition_counts import PartitionCounts

__all__ = ("BARE_LIMITS", "KafkaLimits", "limits_of")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_FRESH_S = 300.0
_RETRY_S = 5.0
_FOREVER_MS = 1 << 62
_OWN_SIZE = "message.max.bytes"

BARE_LIMITS = TopicLimits(least_time=1, plain_names=True)
"""The limits of librdkafka: it takes time 0 for «now», and ends a header's name at NUL."""


def limits_of(config: Mapping[str, str], max_bytes: int | None = None) -> TopicLimits:
    """Return the limits that a topic's configuration sets.

    Args:
        config: All effective settings, by name.
        max_bytes: The producer's own limit, which overrides the topic's limit: with
            compression, larger records may fit.
    """
    before = after = None
    if config.get("message.timestamp.type") != "LogAppendTime":
        either = config.get("message.timestamp.difference.max.ms", "")  # before Kafka 3.6
        before = _span(config.get("message.timestamp.before.max.ms", either))
        after = _span(config.get("message.timestamp.after.max.ms", either))
    own = config.get("max.message.bytes", "")
    return replace(
        BARE_LIMITS,
        before_ms=before,
        after_ms=after,
        max_bytes=max_bytes or (int(own) if own.isdecimal() else None),
        needs_key="compact" in config.get("cleanup.policy", ""),
    )


def _span(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) < _FOREVER_MS else None


class KafkaLimits:
    """Limits by topic, fetched at the first request and cached for 5 minutes. Threads may share it.

    Args:
        producer: Options of the producer; its `message.max.bytes` overrides a topic's limit.
        counts: Partition counts, whose admin client is used.
    """

    def __init__(self, producer: ClientOptions, counts: PartitionCounts) -> None:
        own = producer.get(_OWN_SIZE, "")
        self._own_bytes = int(own) if own.isdecimal() else None
        self._counts = counts
        self._known: dict[str, tuple[TopicLimits | None, float]] = {}

    def of(self, topic: str) -> TopicLimits:
        """Return a topic's limits; `BARE_LIMITS` if the cluster's answer fails.

        Raises:
            UnknownTopicError: The topic does not exist.
        """
        found = self._known.get(topic)
        if found is None or time.monotonic() > found[1]:
            found = self._known[topic] = self._requested_limits(topic)
        if found[0] is None:
            raise self._counts.unknown(topic)
        return found[0]

    def forget(self) -> None:
        """Clear the cache."""
        self._known.clear()

    def _requested_limits(self, topic: str) -> tuple[TopicLimits | None, float]:
        now = time.monotonic()
        try:
            config = self._counts.admin().describe(topic).config
        except UnknownTopicError:
            return None, now + _RETRY_S
        except KStreamsError as exc:
            _LOG.warning("limits of topic %r are not known: %s", topic, exc.message)
            return BARE_LIMITS, now + _FRESH_S
        return limits_of(config, self._own_bytes), now + _FRESH_S
