"""The Cassandra sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_cassandra.cluster import Access, Database
from kstreams_cassandra.epochs import create_epochs_table
from kstreams_cassandra.rows import Columns
from kstreams_cassandra.schema import Names, columns_of
from kstreams_cassandra.writer import TableWriter

__all__ = ("CassandraTable",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class CassandraTable(Sink[K, V]):
    """Writes one row per key to a Cassandra table, effectively once.

    The last result of a key in a batch is written; None deletes the row. All writes of a batch have
    one timestamp, later than those of earlier batches and epochs, so the newest write or delete
    wins whatever the order. Readers see the rows of a batch appear one after the other.

    The timestamps of an epoch begin at the time it started, so it overwrites existing rows. Writes
    of others have later timestamps and hide those of the sink: let only the sink write to its
    cells.

    Values that do not fit their column are rejected individually before anything of the batch is
    written. Rows that the cluster rejects (a key over 64 KB) are rejected individually too, but
    other rows of the batch are written by then, even with `on_refused="fail"`.

    Args:
        hosts: Some nodes of the cluster.
        table: `keyspace.table`, case-sensitive. It must exist and must not have counters.
        key: All columns of the primary key, in order.
        row: Builds the columns of a row from key and value. The record's key is the row's key: a
            tuple if the primary key has several columns. A column that is left out keeps its value.
        port: The port of the nodes.
        user: The user name; None if the cluster has no authentication.
        password: The password of the user. Logs and errors do not show it.
        datacenter: The data center whose nodes are used; by default any. Writes wait for a quorum
            of it.
        tls: Whether the nodes use TLS, with certificates this machine trusts.
        epochs: The table in the same keyspace that stores the starts of epochs; `prepare` creates
            it.
        give_up_after: The maximum time to retry while the cluster does not answer or has no quorum.

    Raises:
        ValueError: No host is given, or a name is invalid.
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
    epochs: str = "kstreams_epochs"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", tuple(self.key))
        keyspace, _, own = self.table.partition(".")
        if isinstance(self.hosts, str) or not self.hosts:
            raise ValueError("hosts must be a list of one or more names or addresses")
        if not keyspace or not own or not self.epochs:
            raise ValueError(
                f"expected keyspace.table and a table name in epochs=; got {self.table!r} and "
                f"epochs={self.epochs!r}"
            )
        if not self.key or not all(self.key) or len(set(self.key)) < len(self.key):
            raise ValueError(f"key={self.key!r}: expected one or more column names, each once")

    def __repr__(self) -> str:
        """Return a text without the hosts, the login and the function."""
        return f"CassandraTable({self.table!r}, key={self.key!r}, epochs={self.epochs!r})"

    @property
    @override
    def label(self) -> str:
        return f"cassandra table {self.table}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "effectively-once"

    def prepare(self) -> None:
        """Check that the table has the key, and create the table of epochs.

        Raises:
            SinkUnavailableError: The cluster does not answer.
            SinkError: The table does not exist, has another key or counters, or a permission is
                missing.
        """
        database, names = self._database(), self._names()
        try:
            database.retried(lambda: columns_of(database, names, self.key))
            database.retried(lambda: create_epochs_table(database, names.keyspace, names.epochs))
        finally:
            database.close()

    @override
    def open(self) -> Writer[K, V]:
        return TableWriter(self._database(), self._names(), self.key, self.row)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because rows are visible as soon as they are written."""

    def _names(self) -> Names:
        keyspace, _, table = self.table.partition(".")
        return Names(keyspace, table, self.epochs)

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
