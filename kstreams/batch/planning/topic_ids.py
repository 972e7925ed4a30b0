"""Checks that topics still have the ids that were stored with the positions in them."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.errors import TopicRecreatedError, Where
from kstreams.ids import TopicPartition

__all__ = ("TOPIC_WAY_ON", "Identities")

TOPIC_WAY_ON = (
    "`kstreams reset` lets the app start again with empty state, at the `start` of each source. "
    "To keep the state, "
    "make a savepoint and run the app on a fork of it, in another checkpoint (`kstreams state "
    "savepoint`, `kstreams state fork`). A fork with a start time reads the topics from that time. "
    "A fork without a start time reads from the old offsets, which is correct only for a topic "
    "that was copied with its offsets."
)
"""The hint for positions that belong to a deleted topic."""


class Identities:
    """The ids of a query's source topics. A topic without an id is not checked.

    Args:
        present: The current ids of the topics, by name; an empty text for a topic without an id.
    """

    def __init__(self, present: Mapping[str, str]) -> None:
        self._ids = {topic: topic_id for topic, topic_id in present.items() if topic_id}

    @property
    def known(self) -> dict[str, str]:
        """The topic ids, by topic."""
        return dict(self._ids)

    def check_known(
        self, known: Mapping[str, str], positions: Mapping[TopicPartition, int]
    ) -> None:
        """Compare the topic ids with the ids that were stored with the positions.

        Raises:
            TopicRecreatedError: A topic with read records has another id now.
        """
        for topic, expected in known.items():
            if topic in self._ids:
                _compare(topic, expected, self._ids[topic], positions)

    def check(self, topic: str, found: str, positions: Mapping[TopicPartition, int]) -> None:
        """Compare a topic's id with that at the start; accept a new id if no record was read.

        Raises:
            TopicRecreatedError: The id differs, and records were read.
        """
        expected = self._ids.get(topic, found)
        if found:
            _compare(topic, expected, found, positions)
            self._ids[topic] = found


def _compare(
    topic: str, expected: str, found: str, positions: Mapping[TopicPartition, int]
) -> None:
    if expected == found:
        return
    read = {
        place.partition: offset
        for place, offset in positions.items()
        if place.topic == topic and offset
    }
    if not read:
        return
    raise TopicRecreatedError(
        f"the topic was deleted and created again: its id was {expected}, and is {found}. The "
        f"query has read up to offset {min(read.values())} or later, which belongs to the deleted "
        "topic",
        expected=expected,
        found=found,
        hint=TOPIC_WAY_ON,
        where=Where(topic=topic, partition=min(read), offset=read[min(read)]),
    )
