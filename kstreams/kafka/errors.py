"""What can go wrong between the library and a Kafka cluster."""

from __future__ import annotations

from kstreams.errors import CompileError, ExecutionError, RecordRefusedError, Where

__all__ = (
    "BrokerUnavailableError",
    "DeliveryError",
    "KafkaOptionsError",
    "KafkaRequestError",
    "RecordRefusedError",
)


class KafkaOptionsError(CompileError, ValueError):
    """
    Client options are wrong, or one of the two clients has no such thing.

    Attributes:
        option: The option's name; its value is never part of the error.

    """

    def __init__(self, message: str, *, option: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.option = option


class BrokerUnavailableError(ExecutionError):
    """
    No broker answered in time, or none let the client in; trying again is safe.

    Attributes:
        bootstrap: The addresses tried, as they were given.
        reason: What the client said last.
        code: librdkafka's or Kafka's name of the error, such as `_TRANSPORT`, if there is one.

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
    """
    The cluster refused a request; the message has its reason.

    Attributes:
        code: Kafka's name of the error, such as `TOPIC_AUTHORIZATION_FAILED`.

    """

    def __init__(
        self, message: str, *, code: str = "", hint: str = "", where: Where | None = None
    ) -> None:
        super().__init__(message, hint=hint, where=where)
        self.code = code


class DeliveryError(ExecutionError):
    """
    The cluster did not take a record; a retry may succeed.

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
