"""Errors of topics, on Kafka and embedded, and of their records."""

from __future__ import annotations

from typing import ClassVar

from kstreams.errors.base import KStreamsError, Where
from kstreams.errors.execution import ExecutionError

__all__ = (
    "BrokerUnavailableError",
    "CorruptSegmentError",
    "DataLossError",
    "DeliveryError",
    "FileChangedError",
    "InvalidTopicError",
    "KafkaRequestError",
    "MisplacedKeyError",
    "RecordRefusedError",
    "RowsRefusedError",
    "TopicExistsError",
    "TopicFormatError",
    "TopicRecreatedError",
    "TransactionError",
    "TransactionTimeoutError",
    "UnknownPartitionError",
    "UnknownTopicError",
)


class UnknownTopicError(ExecutionError, KeyError):
    """A topic does not exist; create it, or fix its name or the connection."""

    __str__ = KStreamsError.__str__


class TopicExistsError(ExecutionError, ValueError):
    """A topic cannot be created because it already exists."""


class DataLossError(ExecutionError):
    """Records that the app still needs were deleted from the topic."""

    WAY_ON: ClassVar[str] = (
        "to avoid it, set a longer retention, or restart the app sooner. To continue without these "
        "records, reset the app: each source then reads from its `start` setting."
    )
    """The hint for an error because records were deleted before they were read."""


class FileChangedError(DataLossError):
    """A file has changed since its records were planned, so they are not read."""


class TopicRecreatedError(DataLossError):
    """A source's topic was deleted and created again: its offsets now mean other records.

    Attributes:
        expected: Id of the topic that was read.
        found: Id of the topic that has its name now.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        hint: str = "",
        where: Where | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.expected = expected
        self.found = found


class RecordRefusedError(ExecutionError, ValueError):
    """A topic or a sink's destination rejects a record; a retry fails again.

    Attributes:
        code: Kafka's or librdkafka's name of the error, such as `MSG_SIZE_TOO_LARGE`; empty
            if there is none.
    """

    WAY_ON: ClassVar[str] = (
        "Or let the sink drop such results or write them to a dead-letter topic: add_sink(..., "
        "on_refused='skip' or DeadLetter(topic))."
    )
    """The hint for a result that does not come from a single input record."""

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class BrokerUnavailableError(ExecutionError):
    """No broker answered in time, or no broker accepted the client. A retry is safe.

    Attributes:
        bootstrap: The configured addresses.
        reason: The last message of the client.
        code: The name of the error in librdkafka or Kafka, such as `_TRANSPORT`; empty without one.
    """

    def __init__(self, bootstrap: str, reason: str, code: str = "") -> None:
        super().__init__(
            f"no Kafka broker answers at {bootstrap}: {reason}",
            hint="check that this machine reaches the address, that the broker's "
            "advertised.listeners do too, and that security.protocol and the credentials fit "
            "the listener.",
        )
        self.bootstrap = bootstrap
        self.reason = reason
        self.code = code


class KafkaRequestError(ExecutionError):
    """The cluster rejected a request; the message has the reason.

    Attributes:
        code: Kafka's name of the error, such as `TOPIC_AUTHORIZATION_FAILED`.
    """

    def __init__(
        self, message: str, *, code: str = "", hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class DeliveryError(ExecutionError):
    """The cluster did not accept a record; a retry may succeed.

    Attributes:
        code: librdkafka's or Kafka's name of the error, such as `_MSG_TIMED_OUT`.
    """

    def __init__(self, message: str, code: str, *, where: Where | None = None) -> None:
        super().__init__(
            message,
            hint="check that the topic's brokers are up and reachable; "
            "message.timeout.ms in producer= sets how long to retry.",
            where=where,
        )
        self.code = code


class TransactionError(ExecutionError):
    """The cluster rejected a transaction of results. No consumer sees a part of the transaction.

    The batch is committed. The next start of the app publishes the results.

    Attributes:
        code: The name of the error in librdkafka or Kafka, such as `COORDINATOR_NOT_AVAILABLE`;
            empty without one.
    """

    def __init__(
        self, message: str, code: str = "", *, hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class TransactionTimeoutError(TransactionError):
    """A batch's results take longer to write than a transaction may stay open."""


class MisplacedKeyError(ExecutionError):
    """A key is not in the partition that its topic's partitioner chooses.

    Attributes:
        expected: The partition that the partitioner chooses; None if the partitioner cannot choose
            one.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: int | None = None,
        hint: str = "",
        where: Where | None = None,
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.expected = expected


class CorruptSegmentError(ExecutionError):
    """A segment's file is damaged, or two files have the same offsets. Restore it from a copy."""


class TopicFormatError(ExecutionError):
    """The file `topic.json` of a topic is unreadable, or has a format of another version."""


class InvalidTopicError(ExecutionError, ValueError):
    """The name or the number of partitions is invalid for a topic. Choose another."""


class RowsRefusedError(ExecutionError, ValueError):
    """A topic rejects rows as invalid. Nothing was written; fix the rows and append them again."""


class UnknownPartitionError(UnknownTopicError):
    """The topic exists, but has no partition of this number."""
