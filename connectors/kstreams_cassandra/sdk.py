"""The only module that imports cassandra-driver."""

from __future__ import annotations

try:
    import cassandra as errors
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import (
        EXEC_PROFILE_DEFAULT,
        Cluster,
        ExecutionProfile,
        NoHostAvailable,
        Session,
    )
    from cassandra.concurrent import execute_concurrent
    from cassandra.connection import ConnectionException
    from cassandra.policies import (
        DCAwareRoundRobinPolicy,
        FallthroughRetryPolicy,
        RoundRobinPolicy,
        TokenAwarePolicy,
    )
    from cassandra.query import BoundStatement, PreparedStatement, SimpleStatement
except ImportError as error:
    raise ImportError(
        "Cassandra needs its driver: pip install 'kstreams-spark[cassandra]'"
    ) from error

__all__ = (
    "EXEC_PROFILE_DEFAULT",
    "BoundStatement",
    "Cluster",
    "ConnectionException",
    "DCAwareRoundRobinPolicy",
    "ExecutionProfile",
    "FallthroughRetryPolicy",
    "NoHostAvailable",
    "PlainTextAuthProvider",
    "PreparedStatement",
    "RoundRobinPolicy",
    "Session",
    "SimpleStatement",
    "TokenAwarePolicy",
    "errors",
    "execute_concurrent",
)
