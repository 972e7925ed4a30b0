"""The ids of tasks and of topic partitions, and their text form for files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

__all__ = ("TaskId", "TopicPartition", "parse_keys", "text_keys")

P = TypeVar("P", "TaskId", "TopicPartition")
"""The type of keys in a mapping."""
V = TypeVar("V")
"""The type of values in a mapping."""

_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")


class TaskId(NamedTuple):
    """One task: a partition group at one partition. Its text is `group/partition`.

    Attributes:
        group: Name of the partition group.
        partition: The task's partition.

    Source: `org.apache.kafka.streams.processor.TaskId`.
    """

    group: str
    partition: int

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Parse the text of a task id, as `str` returns it.

        Raises:
            ValueError: The text is not a task id.
        """
        return cls(*_cut(text, "task"))

    def __str__(self) -> str:
        return f"{self.group}/{self.partition}"


class TopicPartition(NamedTuple):
    """One partition of a topic. Its text is `topic/partition`.

    Attributes:
        topic: Name of the topic, or of a repartition edge.
        partition: Number of the partition; for an edge, of the task that wrote the records.

    Source: `org.apache.kafka.common.TopicPartition`.
    """

    topic: str
    partition: int

    @classmethod
    def parse(cls, text: str) -> TopicPartition:
        """Parse the text of a topic partition, as `str` returns it.

        Raises:
            ValueError: The text is not a partition of a topic.
        """
        return cls(*_cut(text, "partition of a topic"))

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


def text_keys(values: Mapping[P, V]) -> dict[str, V]:
    """Return the mapping with its keys as text, as JSON needs, in the same order."""
    return {str(key): value for key, value in values.items()}


def parse_keys(kind: type[P], values: Mapping[str, V]) -> dict[P, V]:
    """Parse the keys of a mapping that `text_keys` returned.

    Args:
        kind: The class of the keys.
        values: The result of `text_keys`, perhaps read from JSON.

    Raises:
        ValueError: A key cannot be parsed.
    """
    return {kind.parse(text): value for text, value in values.items()}


def _cut(text: str, what: str) -> tuple[str, int]:
    name, slash, number = text.rpartition("/")
    if not slash or not _NUMBER.fullmatch(number):
        raise ValueError(f"{text[:80]!r} does not name a {what}: expected name/number")
    return name, int(number)
