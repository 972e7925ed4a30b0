"""What can be wrong with embedded topics, beyond the errors every connection raises."""

from __future__ import annotations

from kstreams.errors import ExecutionError, UnknownTopicError

__all__ = (
    "CorruptSegmentError",
    "InvalidTopicError",
    "RowsRefusedError",
    "TopicFormatError",
    "UnknownPartitionError",
)


class CorruptSegmentError(ExecutionError):
    """A segment's file is damaged, or two claim the same offsets. Restore it from a copy."""


class TopicFormatError(ExecutionError):
    """A topic's description is unreadable, or of a format this version does not know."""


class InvalidTopicError(ExecutionError, ValueError):
    """A topic cannot have this name or this number of partitions. Choose another."""


class RowsRefusedError(ExecutionError, ValueError):
    """These rows cannot stand in a topic; nothing was written. Mend them and append again."""


class UnknownPartitionError(UnknownTopicError):
    """The topic exists, but has no partition of this number."""
