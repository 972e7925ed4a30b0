"""Errors of topics: on Kafka, embedded, and of the records that they take."""

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
    """A topic does not exist where the app looks for it; create it, or fix its name."""

    __str__ = KStreamsError.__str__


class TopicExistsError(ExecutionError, ValueError):
    """A topic that is to be created exists already."""


class DataLossError(ExecutionError):
    """Offsets that the app still needs are gone from the topic."""

    WAY_ON: ClassVar[str] = (
        "a longer retention or a shorter stop avoids it. To go on without these records, reset "
        "the app: its sources' starts say where it begins then."
    )
    """A hint: what to do when records were deleted before they were read."""


class FileChangedError(DataLossError):
    """A file has changed since its records were planned, so they are not read."""


class TopicRecreatedError(DataLossError):
    """A source's topic was deleted and created again: its offsets are those of others.

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
    """A topic cannot take this record; a retry fails again.

    Attributes:
        code: Kafka's or librdkafka's name of the error, such as `MSG_SIZE_TOO_LARGE`; empty
            if there is none.
    """

    WAY_ON: ClassVar[str] = (
        "Or let the sink leave such results out or set them aside: add_sink(..., "
        "on_refused='skip' or DeadLetter(topic))."
    )
    """A hint: what to do where a result is no single record's."""

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
    """The cluster refused a request; the message has its reason.

    Attributes:
        code: Kafka's name of the error, such as `TOPIC_AUTHORIZATION_FAILED`.
    """

    def __init__(
        self, message: str, *, code: str = "", hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class DeliveryError(ExecutionError):
    """The cluster did not take a record; a retry may succeed.

    Attributes:
        code: librdkafka's or Kafka's name of the error, such as `_MSG_TIMED_OUT`.
    """

    def __init__(self, message: str, code: str, *, where: Where | None = None) -> None:
        super().__init__(
            message,
            hint="check that the topic's brokers are up and reachable; "
            "message.timeout.ms in producer= says how long to try.",
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
    """A key lies in another partition than its topic's partitioner says, and misses its equals.

    Attributes:
        expected: The partition that the key belongs to; None where its partitioner has none.
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
    """A segment's file is damaged, or two claim the same offsets. Restore it from a copy."""


class TopicFormatError(ExecutionError):
    """A topic's description is unreadable, or of a format this version does not know."""


class InvalidTopicError(ExecutionError, ValueError):
    """A topic cannot have this name or this number of partitions. Choose another."""


class RowsRefusedError(ExecutionError, ValueError):
    """A topic cannot hold these rows. Nothing was written; fix the rows and append them again."""


class UnknownPartitionError(UnknownTopicError):
    """The topic exists, but has no partition of this number."""
