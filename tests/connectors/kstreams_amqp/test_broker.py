"""Temporary and permanent errors of a broker."""

from __future__ import annotations

import pytest
from pika import exceptions

from kstreams.errors import IntakeUnavailableError
from kstreams_amqp.broker import Broker, may_pass

OPENING = (
    exceptions.IncompatibleProtocolError,
    exceptions.ProbableAuthenticationError,
    exceptions.ProbableAccessDeniedError,
)
"""The errors that pika raises for a connection that ends before it is open."""


@pytest.mark.parametrize("kind", OPENING, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "reason",
    [
        exceptions.StreamLostError("Transport indicated EOF"),
        exceptions.ConnectionClosedByBroker(320, "CONNECTION_FORCED - broker forced it"),
        exceptions.ConnectionClosedByBroker(541, "INTERNAL_ERROR - vhost '/' is down"),
    ],
    ids=["lost", "forced", "vhost down"],
)
def test_broker_error_while_node_stops_or_starts_is_temporary(
    kind: type[Exception], reason: Exception
) -> None:
    exc = kind(repr(reason))
    assert may_pass(exc)
    assert may_pass(reason)
    told = Broker("amqp://app:secret@host/").intake_error(exc)
    assert isinstance(told, IntakeUnavailableError)


@pytest.mark.parametrize(
    "said",
    [
        "home node 'rabbit@b' of durable queue 'q' in vhost '/' is down or inaccessible",
        "failed to perform operation on queue 'q' in vhost '/' due to timeout",
        "queue 'q' in vhost '/' process is stopped by supervisor",
    ],
)
def test_broker_error_of_existing_queue_that_is_down_is_temporary(said: str) -> None:
    assert may_pass(exceptions.ChannelClosedByBroker(404, f"NOT_FOUND - {said}"))


@pytest.mark.parametrize(
    "exc",
    [
        exceptions.ChannelClosedByBroker(404, "NOT_FOUND - no queue 'q' in vhost '/'"),
        exceptions.ChannelClosedByBroker(403, "ACCESS_REFUSED - of queue 'q'"),
        exceptions.ProbableAccessDeniedError(
            repr(exceptions.ConnectionClosedByBroker(530, "NOT_ALLOWED - vhost x not found"))
        ),
        exceptions.ProbableAuthenticationError(
            repr(exceptions.ConnectionClosedByBroker(403, "ACCESS_REFUSED - Login was refused"))
        ),
    ],
    ids=["no queue", "no right", "no vhost", "no such user"],
)
def test_error_that_refuses_request_is_permanent(exc: Exception) -> None:
    assert not may_pass(exc)
