"""An admin connection whose every request ends in time, with an answer or a typed error."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, TypeVar

from kstreams.errors import (
    BrokerUnavailableError,
    KafkaOptionsError,
    KafkaRequestError,
    TopicExistsError,
    UnknownTopicError,
    Where,
)
from kstreams_kafka.client_log import ClientLog
from kstreams_kafka.client_options import ClientOptions
from kstreams_kafka.librdkafka import (
    OFFSET_INVALID,
    AdminClient,
    KafkaError,
    KafkaException,
    ListOffsetsResultInfo,
)

__all__ = ("AdminConnection",)

T = TypeVar("T")
"""The type of an answer."""

_UNREACHABLE = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._AUTHENTICATION,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError.REQUEST_TIMED_OUT,
    }
)
_PASSING = frozenset(
    KafkaError(code).name()
    for code in (
        KafkaError._TRANSPORT,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    )
)
"""Transient errors: a broker is gone, or a partition has a new leader that is not known yet."""
_POLL_S = 0.05


class AdminConnection:
    """An admin client that waits for answers and raises typed errors.

    The client connects at the first request. Neither errors nor their causes contain a secret of
    the options.

    Args:
        options: librdkafka's options, including `bootstrap.servers`.
        timeout: The time limit of one request.

    Raises:
        KafkaOptionsError: librdkafka does not know an option or its value.
    """

    def __init__(self, options: ClientOptions, timeout: timedelta) -> None:
        self.options = options
        self.timeout_s = timeout.total_seconds()
        self.bootstrap = options.get("bootstrap.servers", "(no bootstrap.servers)")
        # Not a method: a client that refers to its owner is not freed with it.
        client_errors: deque[str] = deque(maxlen=1)
        self._client_errors = client_errors
        settings: dict[str, Any] = {
            **options,
            "error_cb": lambda error: client_errors.append(error.str()),
        }
        try:
            self.client = AdminClient(settings, logger=ClientLog(options))
        except KafkaException as exc:
            raise KafkaOptionsError(
                f"Kafka client options are refused: {options.scrub(exc.args[0].str())}",
                hint="use the names and values of librdkafka's CONFIGURATION.md.",
            ) from None  # the cause could show a secret

    def ask(
        self, question: Callable[[], Mapping[Any, Future[T]]], topic: str | None = None
    ) -> dict[Any, T]:
        """Send a query, and wait for all of its answers.

        Transient errors are retried within the time limit of one request.

        Args:
            question: Sends the query; returns the future of each answer by its subject.
            topic: The topic of all answers, for errors; None if the subjects are topics.

        Returns:
            The answers by their subjects.
        """
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                return self.order(question, topic)
            except (BrokerUnavailableError, KafkaRequestError) as exc:
                if exc.code not in _PASSING or time.monotonic() > deadline:
                    raise
            time.sleep(_POLL_S)

    def order(
        self, request: Callable[[], Mapping[Any, Future[T]]], topic: str | None = None
    ) -> dict[Any, T]:
        """Send a request once, without retries, and return its answers; arguments as for `ask`."""
        futures = self.attempt(request, topic)
        return {of: self._result(future, topic or str(of)) for of, future in futures.items()}

    def _result(self, future: Future[T], topic: str) -> T:
        """Wait for one answer about a topic, and return the answer; failures are typed errors."""
        # The client keeps to its own time-out; this one guards against waiting forever.
        answer = self.attempt(lambda: future.result(self.timeout_s + 5), topic)
        if isinstance(answer, ListOffsetsResultInfo) and answer.offset == OFFSET_INVALID:
            # While a broker starts, the client may return this number without an error.
            raise BrokerUnavailableError(
                self.bootstrap,
                f"the cluster returned no offset for a partition of topic {topic!r}",
                KafkaError(KafkaError.OFFSET_NOT_AVAILABLE).name(),
            )
        return answer

    def attempt(self, step: Callable[[], T], topic: str | None = None) -> T:
        """Call a function of the client, and return its result; failures are typed errors."""
        try:
            return step()
        except KafkaException as exc:
            raise self._failure(exc.args[0], topic) from None  # the cause could show a secret
        except FutureTimeoutError as exc:
            raise BrokerUnavailableError(
                self.bootstrap, f"no answer within {self.timeout_s:g} s"
            ) from exc
        except ValueError as exc:
            raise KafkaRequestError(
                self.options.scrub(str(exc)), code="INVALID_REQUEST", where=Where(topic=topic)
            ) from None

    def wait_until(self, reached: Callable[[], bool], failure: str) -> None:
        """Poll a condition until it is true.

        Args:
            reached: The condition.
            failure: The error text, such as `topic 'a' is still there`; the time limit is appended.

        Raises:
            BrokerUnavailableError: The condition is not true within the time limit of a request.
        """
        deadline = time.monotonic() + self.timeout_s
        while not reached():
            if time.monotonic() > deadline:
                raise BrokerUnavailableError(
                    self.bootstrap, f"{failure} within {self.timeout_s:g} s"
                )
            time.sleep(_POLL_S)

    def _failure(self, error: KafkaError, topic: str | None) -> Exception:
        code = error.code()
        reason = self.options.scrub(error.str())
        where = Where(topic=topic)
        if code in _UNREACHABLE:
            self.client.poll(0)  # serves the callback that knows the connection's own error
            client_text = self.options.scrub("".join(self._client_errors))
            text = f"{reason}; {client_text}" if client_text else reason
            return BrokerUnavailableError(self.bootstrap, text, error.name())
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART and topic is not None:
            return UnknownTopicError(
                f"topic {topic!r} does not exist at {self.bootstrap}",
                hint=self._near(topic),
                where=where,
            )
        if code == KafkaError.TOPIC_ALREADY_EXISTS:
            return TopicExistsError(f"topic {topic!r} already exists", where=where)
        return KafkaRequestError(
            f"Kafka refused the request: {reason}", code=error.name(), where=where
        )

    def _near(self, topic: str) -> str:
        try:
            names = self.client.list_topics(timeout=self.timeout_s).topics
        except KafkaException:
            names = {}
        near = get_close_matches(topic, sorted(names), n=3)
        known = f"did you mean {', '.join(map(repr, near))}? If not, c" if near else "C"
        return f"{known}reate it first, or check its name."
