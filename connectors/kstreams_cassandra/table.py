"""A table as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.sinks import CommitId, Guarantee, Writer
from kstreams_cassandra.cluster import Access, Database
from kstreams_cassandra.lives import make_lives
from kstreams_cassandra.rows import Columns
from kstreams_cassandra.schema import Names, columns_of
from kstreams_cassandra.writer import TableWriter

__all__ = ("CassandraTable",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class CassandraTable(Generic[K, V]):
    """Keeps a row a key in a table of Cassandra, effectively once.

    The last result of a key in a batch counts; None deletes the row. All that a batch writes has
    a timestamp of its own, later than those of batches and lives before: whoever comes last, the
    newest wins, and a delete too. Others see a batch's rows one after the other.

    A life's timestamps begin with the time at which it began, so that it writes over what was
    there. What others write to the table later has later timestamps, and hides what the sink
    writes to the same cells: leave the table to the sink.

    What has no form in its column is refused alone before anything of the batch is written. What
    the cluster refuses (a key of more than 64 KB) is refused alone too, but others of the batch
    are written by then, also under `on_refused="fail"`.

    Args:
        hosts: Some nodes of the cluster.
        table: `keyspace.table`, as it is, case included. It has to be there, without counters.
        key: All columns of its primary key, in order.
        row: Makes the columns of a row from key and value. The record's key is that of the row: a
            tuple where the row's has several columns. A column that is left out keeps its value.
        port: Of the nodes.
        user: Who writes; None where nobody has to say.
        password: Of the user. It shows in no text.
        datacenter: Whose nodes are asked; any unless given. Writes wait for a quorum of it.
        tls: Whether the nodes speak TLS, with certificates that this machine trusts.
        lives: Table in the same keyspace where lives begin; made by `prepare`.
        give_up_after: How long to try again while the cluster does not answer or has no quorum.

    Raises:
        ValueError: There is no host, or a name is none.
    """

    hosts: Sequence[str]
    table: str
    _: KW_ONLY
    key: tuple[str, ...]
    row: Callable[[K, V], Columns | None]
    port: int = 9042
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    datacenter: str | None = None
    tls: bool = False
    lives: str = "kstreams_lives"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", tuple(self.key))
        keyspace, _, own = self.table.partition(".")
        if isinstance(self.hosts, str) or not self.hosts:
            raise ValueError("hosts are a list of names or addresses")
        if not keyspace or not own or not self.lives:
            raise ValueError(f"{self.table!r} names no table: give keyspace.table")
        if not self.key or not all(self.key) or len(set(self.key)) < len(self.key):
            raise ValueError(f"a key has columns, each named once: {self.key!r}")

    def __repr__(self) -> str:
        """Show all but the hosts, the login and the function."""
        return f"CassandraTable({self.table!r}, key={self.key!r}, lives={self.lives!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"cassandra table {self.table}"

    @property
    def guarantee(self) -> Guarantee:
        """Effectively once."""
        return "effectively-once"

    def prepare(self) -> None:
        """See that the table has the key, and make the table of lives.

        Raises:
            SinkUnavailableError: The cluster does not answer.
            SinkError: The table is not there, has another key or counters, or a right is missing.
        """
        database, names = self._database(), self._names()
        try:
            database.retried(lambda: columns_of(database, names, self.key))
            database.retried(lambda: make_lives(database, names.keyspace, names.lives))
        finally:
            database.close()

    def open(self) -> Writer[K, V]:
        """Open a writer, which has a session of its own."""
        return TableWriter(self._database(), self._names(), self.key, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: rows are seen when they are written."""

    def _names(self) -> Names:
        keyspace, _, table = self.table.partition(".")
        return Names(keyspace, table, self.lives)

    def _database(self) -> Database:
        access = Access(
            tuple(self.hosts),
            port=self.port,
            user=self.user,
            password=self.password,
            datacenter=self.datacenter,
            tls=self.tls,
        )
        return Database(access, self.give_up_after)
