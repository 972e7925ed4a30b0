"""Tell when records that an app still needed are gone from Kafka."""

from __future__ import annotations

import re

from kstreams.errors import DataLossError, Where

__all__ = ("data_loss",)

# The texts of `error/kafka-error-conditions.json` in Spark's connector: an exception that
# has passed a Python function keeps nothing else of the condition.
_LOST = "Some data may have been lost because they are not available in Kafka any more"
_CAUSES = (
    (
        re.compile(
            r"Could not read records in offset \[(?P<offset>\d+), \d+\) for topic partition "
            r"`?(?P<place>[\w.-]+)"
        ),
        "records were deleted before they were read",
    ),
    (
        re.compile(r"Starting offset for `?(?P<place>[\w.-]+?)`? was (?P<offset>\d+) but"),
        "records were deleted before they were read",
    ),
    (
        re.compile(
            r"Partition `?(?P<place>[\w.-]+?)`? offset was changed from (?P<offset>\d+) to \d+"
        ),
        "the topic ends before what was read: it was deleted and made anew",
    ),
    (
        re.compile(r"Partitions Set\(`?(?P<place>[\w.-]+)(?P<offset>)[^)]*\) have been deleted"),
        "partitions were deleted",
    ),
    (
        re.compile(
            r"Cannot find initial offsets for partitions Set\(`?(?P<place>[\w.-]+)(?P<offset>)"
        ),
        "partitions were deleted",
    ),
    (
        re.compile(r"Added partition `?(?P<place>[\w.-]+?)(?P<offset>)`? starts from \d+ instead"),
        "records of a new partition were deleted before they were read",
    ),
)
_GONE = "kafka.common.errors.UnknownTopicOrPartitionException"
_HINT = (
    "a longer retention or a shorter stop avoids it. To go on without these records, reset the "
    "app: its sources' starts say where it begins then."
)


def data_loss(exc: BaseException) -> DataLossError | None:
    """Return the typed error when Spark's says that records of Kafka are lost, else None.

    Topic, partition and offset are in `where`, as far as Spark tells them; of several lost
    partitions it is one. Spark does not notice a topic that was deleted and made anew, and
    is longer by now than what was read of the old one.
    """
    text = str(exc)
    if _LOST not in text:
        if _GONE not in text:
            return None
        return DataLossError("a source topic was deleted while it was read", hint=_HINT)
    for pattern, message in _CAUSES:
        found = pattern.search(text)
        if found:
            topic, _, partition = found["place"].rstrip(".").rpartition("-")
            offset = int(found["offset"]) if found["offset"] else None
            where = Where(topic=topic, partition=int(partition), offset=offset)
            return DataLossError(message, hint=_HINT, where=where)
    return DataLossError("records were deleted before they were read", hint=_HINT)
