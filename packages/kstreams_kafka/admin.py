"""Requests to a Kafka cluster: queries, and changes of its topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams.connection import TopicEnds
from kstreams.errors import KafkaRequestError, UnknownTopicError, Where
from kstreams.partitioner import count_problem
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.connection import AdminConnection
from kstreams_kafka.librdkafka import (
    EARLIEST,
    LATEST,
    ConfigResource,
    IsolationLevel,
    NewTopic,
    OffsetSpec,
    TopicCollection,
    TopicPartition,
)

__all__ = ("KafkaAdmin", "TopicDescription")

_INTERNAL = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id that clusters give to topics that were created before topics had ids."""


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """The size and settings of a topic in the cluster.

    Attributes:
        name: The topic's name.
        partitions: The number of partitions.
        replication_factor: The number of replicas of each partition.
        config: All effective settings by name, including defaults, as text.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]


class KafkaAdmin:
    """A client for requests about whole topics.

    Implements `kstreams.connection.TopicAdmin` and more; `Kafka.admin` opens it. Used on the
    driver. Every call returns or fails within the time-out, may be repeated, and is thread-safe.
    The client connects at the first call.

    Args:
        options: librdkafka's options, including `bootstrap.servers`, as `Kafka.client_options`
            makes them.
        timeout: The time limit of one request.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(
        self, options: Mapping[str, str], *, timeout: timedelta = timedelta(seconds=20)
    ) -> None:
        self._link = AdminConnection(ClientOptions(options), timeout)
        self._client = self._link.client
        self._partitions: dict[str, list[int]] = {}  # as they were last

    def __repr__(self) -> str:
        return f"KafkaAdmin({self._link.options!r})"

    def topics(self, *, internal: bool = False) -> tuple[str, ...]:
        """Return the names of the topics that this client may see, sorted.

        Args:
            internal: Whether to include Kafka's own topics.

        Raises:
            BrokerUnavailableError: No broker answers.
        """
        found = self._link.attempt(lambda: self._client.list_topics(timeout=self._link.timeout_s))
        return tuple(sorted(name for name in found.topics if internal or name not in _INTERNAL))

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic.

        Raises:
            UnknownTopicError: The topic does not exist; it is never created.
            BrokerUnavailableError: No broker answers.
        """
        return len(self._describe([topic])[topic].partitions)

    def describe(self, topic: str) -> TopicDescription:
        """Return the size and the settings of a topic.

        Raises:
            UnknownTopicError: The topic does not exist.
            BrokerUnavailableError: No broker answers.
            KafkaRequestError: This client may not read the settings.
        """
        partitions = self._describe([topic])[topic].partitions
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entries = self._link.ask(
            lambda: self._client.describe_configs([resource], request_timeout=self._link.timeout_s),
            topic,
        )[resource]
        return TopicDescription(
            name=topic,
            partitions=len(partitions),
            replication_factor=len(partitions[0].replicas),
            config={
                name: entry.value
                for name, entry in sorted(entries.items())
                if entry.value is not None
            },
        )

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first retained offset of each partition.

        Raises:
            UnknownTopicError: The topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        return self._offsets(self._describe([topic])[topic], EARLIEST)

    def end_offsets(self, topic: str, *, committed: bool = True) -> dict[int, int]:
        """Return the offset after the last record of each partition, by partition.

        Args:
            topic: The topic's name.
            committed: Whether to stop before the first open transaction, as a
                consumer with `isolation.level=read_committed` does: the library's
                own readers read no further.

        Raises:
            UnknownTopicError: The topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        return self._offsets(self._describe([topic])[topic], LATEST, committed=committed)

    def ends_of(
        self, places: Iterable[tuple[str, int]], *, committed: bool
    ) -> dict[tuple[str, int], int]:
        """Return the offset after the last record of the given partitions, with one request.

        Args:
            places: Pairs of topic and partition.
            committed: As for `end_offsets`.

        Raises:
            UnknownTopicError: A topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        asked = {TopicPartition(*place): LATEST for place in places}
        if not asked:
            return {}
        first = next(iter(asked)).topic
        answers = self._link.ask(lambda: self._listed(asked, committed=committed), first)
        return {(at.topic, at.partition): answer.offset for at, answer in answers.items()}

    def ends(self, topic: str) -> TopicEnds:
        """Return the end offsets, as `end_offsets` does, and the topic id.

        After the first call for a topic, both are requested at the same time.

        Raises:
            UnknownTopicError: The topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        if known := self._partitions.pop(topic, None):
            # Or it has fewer partitions, or leaders that are not known before it is described.
            with suppress(UnknownTopicError, KafkaRequestError):
                return self._ends(topic, known)
        return self._ends(topic, ())

    def _ends(self, topic: str, known: Sequence[int]) -> TopicEnds:
        asked = {TopicPartition(topic, number): LATEST for number in known}
        answers = self._link.ask(
            lambda: {
                None: self._described([topic])[topic],
                **(self._listed(asked, committed=True) if asked else {}),
            },
            topic,
        )
        found = answers.pop(None)
        numbers = [each.id for each in found.partitions]
        offsets = {at.partition: answer.offset for at, answer in answers.items()}
        if numbers != known:
            offsets = self._offsets(found, LATEST, committed=True)
        self._partitions[topic] = numbers
        topic_id = "" if found.topic_id is None else str(found.topic_id)
        return TopicEnds("" if topic_id == _NO_ID else topic_id, offsets)

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset at or after a time, for each partition.

        A partition without such a record has its end offset in the result.

        Args:
            topic: The topic's name.
            timestamp_ms: Milliseconds since the epoch, compared with the
                records' own timestamps.

        Raises:
            UnknownTopicError: The topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        # The end is asked first: a record that arrives in between then counts as after it.
        described = self._describe([topic])[topic]
        ends = self._offsets(described, LATEST, committed=True)
        found = self._offsets(described, OffsetSpec.for_timestamp(timestamp_ms))
        return {
            partition: end if found.get(partition, -1) < 0 else found[partition]
            for partition, end in ends.items()
        }

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and timestamp of the first record not before a time, by partition.

        One request serves all partitions. The broker also counts transaction markers as records,
        with the broker's time, and records of open transactions.

        Args:
            places: Pairs of topic and partition.
            timestamp_ms: Milliseconds since the epoch, compared with the records' own
                timestamps.

        Returns:
            Offsets and timestamps by topic and partition, without partitions that have no such
            record.

        Raises:
            UnknownTopicError: A topic does not exist.
            BrokerUnavailableError: No broker answers.
        """
        spec = OffsetSpec.for_timestamp(timestamp_ms)
        asked: dict[TopicPartition, OffsetSpec] = {TopicPartition(*place): spec for place in places}
        if not asked:
            return {}
        first = next(iter(asked)).topic
        answers = self._link.ask(lambda: self._listed(asked, committed=False), first)
        return {
            (at.topic, at.partition): (answer.offset, answer.timestamp)
            for at, answer in answers.items()
            if answer.offset >= 0
        }

    def create(
        self,
        topic: str,
        partitions: int,
        *,
        replication_factor: int = -1,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and wait until all its partitions have a leader.

        Args:
            topic: The topic's name.
            partitions: The number of partitions, 1 to `MAX_PARTITIONS`.
            replication_factor: The number of replicas of each partition; -1 is the cluster's
                default.
            config: Settings by Kafka's names. Note that under the default
                `retention.ms` the broker deletes records with old event times:
                `-1` keeps them.

        Raises:
            TopicExistsError: The topic exists, whatever its size.
            KafkaRequestError: The cluster refuses the name, a number or a setting.
            BrokerUnavailableError: No broker answers, or no leader came in time.
        """
        problem = count_problem(partitions)
        if problem:
            raise KafkaRequestError(problem, code="INVALID_PARTITIONS", where=Where(topic=topic))
        wanted = NewTopic(topic, partitions, replication_factor, config=dict(config or {}))
        self._link.order(
            lambda: self._client.create_topics(
                [wanted],
                operation_timeout=self._link.timeout_s,
                request_timeout=self._link.timeout_s,
            ),
            topic,
        )
        self._link.wait_until(
            lambda: self._has_leaders(topic, partitions),
            f"topic {topic!r} has no partition leaders",
        )

    def delete(self, topic: str) -> None:
        """Delete a topic with its records and wait until it is gone.

        Raises:
            UnknownTopicError: The topic does not exist.
            KafkaRequestError: The cluster rejects the deletion.
            BrokerUnavailableError: No broker answers.
        """
        self._link.order(
            lambda: self._client.delete_topics(
                [topic],
                operation_timeout=self._link.timeout_s,
                request_timeout=self._link.timeout_s,
            ),
            topic,
        )
        self._link.wait_until(lambda: topic not in self.topics(), f"topic {topic!r} still exists")

    def close(self) -> None:
        """Do nothing: the client closes when its last reference is dropped, by any thread."""

    def _describe(self, topics: Iterable[str]) -> dict[str, Any]:
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        found = self._link.ask(lambda: self._described(names))
        return {name: found[name] for name in names}

    def _described(self, topics: list[str]) -> dict[Any, Future[Any]]:
        return self._client.describe_topics(
            TopicCollection(topics), request_timeout=self._link.timeout_s
        )

    def _listed(
        self, asked: Mapping[TopicPartition, OffsetSpec], *, committed: bool
    ) -> dict[Any, Future[Any]]:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._client.list_offsets(
            dict(asked), isolation_level=level, request_timeout=self._link.timeout_s
        )

    def _offsets(
        self,
        topic: Any,  # noqa: ANN401  # as the client describes it
        spec: OffsetSpec,
        *,
        committed: bool = False,
    ) -> dict[int, int]:
        asked = {TopicPartition(topic.name, each.id): spec for each in topic.partitions}
        answers = self._link.ask(lambda: self._listed(asked, committed=committed), topic.name)
        return {at.partition: answer.offset for at, answer in answers.items()}

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        try:
            known = self._describe([topic])[topic].partitions
        except UnknownTopicError:
            return False
        return len(known) == partitions and all(part.leader is not None for part in known)
