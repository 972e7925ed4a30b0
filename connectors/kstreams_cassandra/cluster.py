"""A Cassandra session, with retries of temporary failures."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from kstreams_cassandra.sdk import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ConnectionException,
    DCAwareRoundRobinPolicy,
    ExecutionProfile,
    FallthroughRetryPolicy,
    NoHostAvailable,
    PlainTextAuthProvider,
    RoundRobinPolicy,
    Session,
    TokenAwarePolicy,
    errors,
)
from kstreams_rows.retrying import Faults, hidden, retried

__all__ = ("Access", "Database")

T = TypeVar("T")
"""The type of an operation's result."""

_CONNECT_S = 5
_ANSWER_S = 15.0


@dataclass(frozen=True)
class Access:
    """The address of a cluster and the credentials for it.

    Attributes:
        hosts: Some nodes of the cluster.
        port: The port of the nodes.
        user: The user name.
        password: The password of the user.
        datacenter: The data center to use; None uses all nodes.
        tls: Whether the nodes use TLS.
    """

    hosts: tuple[str, ...]
    _: KW_ONLY
    port: int
    user: str | None
    password: str | None = field(repr=False)
    datacenter: str | None
    tls: bool


class Database:
    """A session with a cluster, replaced after it fails.

    Args:
        access: The address and the credentials.
        give_up_after: The maximum time to retry.
    """

    def __init__(self, access: Access, give_up_after: timedelta) -> None:
        self._access = access
        self._give_up_after = give_up_after
        self._open: tuple[Cluster, Session] | None = None
        self._faults = Faults(
            "Cassandra",
            (errors.DriverException, NoHostAvailable, ConnectionException, OSError),
            _may_pass,
            lambda exc: type(exc).__name__,
            lambda exc: hidden(str(exc), (access.password or "",)),
            "check hosts=, the login, the table, and the permissions of the user.",
        )

    def retried(self, work: Callable[[], T]) -> T:
        """Return the result of an operation with the session; retry temporary failures.

        Raises:
            SinkUnavailableError: The cluster did not answer within `give_up_after`.
            SinkError: The request was rejected; a retry would be rejected too.
        """
        return retried(work, self._faults, self._give_up_after, self.close)

    @property
    def session(self) -> Session:
        """The session, which is opened at the first use."""
        return self._opened()[1]

    @property
    def metadata(self) -> Any:  # noqa: ANN401  # the driver has no types
        """The driver's metadata of keyspaces and tables."""
        return self._opened()[0].metadata

    def close(self) -> None:
        """Close the connections; the next operation opens new ones."""
        held, self._open = self._open, None
        if held is not None:
            with suppress(Exception):
                held[0].shutdown()

    def _opened(self) -> tuple[Cluster, Session]:
        if self._open is None:
            access = self._access
            login = None
            if access.user is not None:
                login = PlainTextAuthProvider(access.user, access.password)
            cluster = Cluster(
                list(access.hosts),
                port=access.port,
                auth_provider=login,
                ssl_context=ssl.create_default_context() if access.tls else None,
                connect_timeout=_CONNECT_S,
                protocol_version=errors.ProtocolVersion.V4,  # supported by all nodes
                execution_profiles={EXEC_PROFILE_DEFAULT: _profile(access)},
            )
            try:
                self._open = cluster, cluster.connect()
            except BaseException:
                cluster.shutdown()
                raise
        return self._open


def _profile(access: Access) -> ExecutionProfile:
    if access.datacenter is None:
        nodes = RoundRobinPolicy()
    else:
        nodes = DCAwareRoundRobinPolicy(access.datacenter)
    return ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(nodes),
        retry_policy=FallthroughRetryPolicy(),  # the sink tries again
        consistency_level=errors.ConsistencyLevel.LOCAL_QUORUM,
        serial_consistency_level=errors.ConsistencyLevel.SERIAL,
        request_timeout=_ANSWER_S,
    )


def _may_pass(exc: Exception) -> bool:
    if isinstance(exc, NoHostAvailable):
        said = exc.errors.values() if isinstance(exc.errors, dict) else ()
        return not any(isinstance(each, errors.AuthenticationFailed) for each in said)
    wrong = (
        errors.RequestValidationException,
        errors.AuthenticationFailed,
        errors.UnresolvableContactPoints,
        errors.UnsupportedOperation,
    )
    return not isinstance(exc, wrong)
