"""The first timestamp of an epoch's writes, later than all earlier writes."""

from __future__ import annotations

from typing import Any

from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_cassandra.cluster import Database
from kstreams_cassandra.rows import quoted
from kstreams_cassandra.sdk import SimpleStatement, errors

__all__ = ("base_of", "create_epochs_table", "timestamp_of")

_REVISIONS = 64
"""The number of timestamps per batch, one per plan revision, in µs; batches take longer."""
_APART_US = 60_000_000
"""The minimum time between the starts of two epochs, which tolerates clock differences."""


def create_epochs_table(database: Database, keyspace: str, epochs: str) -> None:
    """Create the table of epochs, unless it exists."""
    database.session.execute(
        f"CREATE TABLE IF NOT EXISTS {quoted(keyspace)}.{quoted(epochs)} "
        "(written text, epoch text, base bigint, PRIMARY KEY (written, epoch))"
    )


def base_of(database: Database, keyspace: str, epochs: str, table: str, epoch: str) -> int:
    """Return the first timestamp of an epoch in a table; the same for all tasks of the epoch.

    The first task that calls this sets the timestamp by the cluster's clock, later than the starts
    of all earlier epochs and all existing writes.

    Raises:
        SinkError: The table of epochs was dropped in the meantime.
    """
    place = f"{quoted(keyspace)}.{quoted(epochs)}"
    for _ in range(3):
        found = _bases(database, place, table)
        if epoch in found:
            return found[epoch]
        row: Any = database.session.execute(
            "SELECT toUnixTimestamp(now()) AS at FROM system.local"
        ).one()
        base = max([row.at * 1000, *(each + _APART_US for each in found.values())])
        database.session.execute(
            f"INSERT INTO {place} (written, epoch, base) VALUES (%s, %s, %s) "  # noqa: S608  # quoted
            "IF NOT EXISTS",
            (table, epoch, base),
        )
    raise SinkError(
        f"another client deleted the row of epoch {epoch!r} from table {epochs!r}",
        hint="let only the library write to that table, and restart the app.",
    )


def timestamp_of(base: int, commit: CommitId) -> int:
    """Return the timestamp of a commit's writes, in microseconds.

    Args:
        base: The result of `base_of` for the epoch of the commit.
        commit: The commit.
    """
    return base + commit.batch * _REVISIONS + min(commit.revision, _REVISIONS - 1)


def _bases(database: Database, place: str, table: str) -> dict[str, int]:
    asked = SimpleStatement(
        f"SELECT epoch, base FROM {place} WHERE written = %s",  # noqa: S608  # quoted
        consistency_level=errors.ConsistencyLevel.SERIAL,
    )
    return {row.epoch: row.base for row in database.session.execute(asked, (table,))}
