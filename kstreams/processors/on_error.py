"""The policy for records that cannot be decoded or processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kstreams.partitioner import Murmur2Partitioner
from kstreams.serde.text import BYTES
from kstreams.topic import Topic

__all__ = ("DeadLetter", "OnError", "dead_letter_topic")


@dataclass(frozen=True)
class DeadLetter:
    """Send the original input record to a topic, with the reason in its headers.

    The headers `kstreams-error-class`, `-message`, `-node`, `-topic`, `-partition`, `-offset` are
    added after the record's headers; key, value and timestamp do not change.

    Args:
        topic: Name of the dead-letter topic.
    """

    topic: str


OnError = Literal["fail", "skip"] | DeadLetter
"""The policies: stop the app (the default; after a restart the record is processed again), count
and skip the record, or send it to a dead-letter topic. In each case all effects of the record are
rolled back.
"""


def dead_letter_topic(policy: DeadLetter) -> Topic[bytes | None, bytes | None]:
    """Return the topic of a dead-letter policy, with keys and values as bytes."""
    return Topic(
        policy.topic,
        BYTES,
        BYTES,
        nulls="pass",
        null_keys="pass",
        partitioner=Murmur2Partitioner(),
    )
