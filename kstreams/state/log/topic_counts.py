"""The records and bytes of each topic that a query reads or writes: part of a commit's totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kstreams.state.log.fields import checked_integer

__all__ = (
    "OTHER_TOPICS",
    "TopicCounts",
    "bounded_topics",
    "summed_topics",
    "topics_from_json",
    "topics_to_json",
)

OTHER_TOPICS = "other-topics"
"""The name under which a query's topics beyond the limit are counted together.

A query may have many topics, because records may choose their topics.
"""

_MOST_TOPICS = 256
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """The records and bytes that a query read from and wrote to a topic.

    Bytes are those of serialized keys and values, before compression and without headers.

    Attributes:
        records_in: The number of records that were read, and processed or dropped.
        bytes_in: The bytes of these records.
        records_out: The number of written records: results, dead letters, or those of a changelog.
        bytes_out: The bytes of these records.
    """

    records_in: int = 0
    bytes_in: int = 0
    records_out: int = 0
    bytes_out: int = 0


def summed_topics(parts: Iterable[Mapping[str, TopicCounts]]) -> dict[str, TopicCounts]:
    """Return the sums of several counts, by topic."""
    sums: dict[str, list[int]] = {}
    for part in parts:
        for topic, counts in part.items():
            known = sums.setdefault(topic, [0, 0, 0, 0])
            known[0] += counts.records_in
            known[1] += counts.bytes_in
            known[2] += counts.records_out
            known[3] += counts.bytes_out
    return {topic: TopicCounts(*counts) for topic, counts in sums.items()}


def bounded_topics(topics: Mapping[str, TopicCounts]) -> Mapping[str, TopicCounts]:
    """Return the counts of at most 256 topics; further topics are summed as `OTHER_TOPICS`."""
    if len(topics) <= _MOST_TOPICS:
        return topics
    named = [topic for topic in topics if topic != OTHER_TOPICS][: _MOST_TOPICS - 1]
    kept = {topic: topics[topic] for topic in named}
    rest = [{OTHER_TOPICS: counts} for topic, counts in topics.items() if topic not in kept]
    return {**kept, **summed_topics(rest)}


def topics_to_json(topics: Mapping[str, TopicCounts]) -> dict[str, list[int]]:
    """Return plain data for JSON."""
    return {
        topic: [each.records_in, each.bytes_in, each.records_out, each.bytes_out]
        for topic, each in topics.items()
    }


def topics_from_json(data: Mapping[str, object]) -> dict[str, TopicCounts]:
    """Parse the result of `topics_to_json`; raises `ValueError` if the data is invalid."""
    found: dict[str, TopicCounts] = {}
    for topic, numbers in data.items():
        if not isinstance(numbers, list) or len(numbers) != _FIELDS:
            raise ValueError(
                f"expected the four counts of topic {topic!r} (records and bytes in, records and "
                f"bytes out), got {numbers!r}"
            )
        for number in numbers:
            checked_integer(number, "a count of a topic")
        found[topic] = TopicCounts(*numbers)
    return found
