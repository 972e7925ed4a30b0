"""Tables of tests, read by a separate session."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

from kstreams_cassandra import CassandraTable

__all__ = ("Keyspaces", "Place")


class Keyspaces:
    """A session with a node, and a keyspace.

    Args:
        host: Address of the node.
        port: Port of the node.
    """

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy(), request_timeout=60)
        self._cluster = Cluster(
            [host], port=port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        )
        self.session = self._cluster.connect()
        self.session.execute(
            "CREATE KEYSPACE k WITH replication = "
            "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        )

    def new_place(self) -> Place:
        """Return a place with a unique table name."""
        return Place(self)

    def close(self) -> None:
        """Close the session."""
        self._cluster.shutdown()


class Place:
    """A table.

    Args:
        keyspaces: The keyspace of the table.
    """

    def __init__(self, keyspaces: Keyspaces) -> None:
        self._keyspaces = keyspaces
        self.name = f"T{uuid4().hex[:8]}"  # a name that must be quoted

    def make(self, columns: str = "word text PRIMARY KEY, total int") -> None:
        """Make the table."""
        self.ask(f'CREATE TABLE k."{self.name}" ({columns})')

    def ask(self, statement: str) -> list[Any]:
        """Run a statement; return its rows."""
        return list(self._keyspaces.session.execute(statement))

    def insert(self, columns: str, values: str, table: str = "") -> None:
        """Insert a row as another client would."""
        place = f'INSERT INTO k."{table or self.name}"'
        self.ask(f"{place} ({columns}) VALUES ({values})")

    def sink(self, **options: Any) -> CassandraTable[Any, Any]:
        """Return a sink to the table."""
        given = {"key": ("word",), "row": _as_it_is, "port": self._keyspaces.port, **options}
        return CassandraTable([self._keyspaces.host], f"k.{self.name}", **given)

    def rows(self, what: str = "word, total") -> list[tuple[Any, ...]]:
        """Return all rows, sorted."""
        return sorted(tuple(row) for row in self.ask("SELECT " + what + self.source))

    @property
    def source(self) -> str:
        """The table's name in statements."""
        return f' FROM k."{self.name}"'


def _as_it_is(_key: object, value: Any) -> Any:
    return value if value is None or isinstance(value, (dict, list)) else {"total": value}
