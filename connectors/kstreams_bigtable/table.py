"""The Bigtable sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_bigtable.rows import Cells, RowMaker
from kstreams_bigtable.service import Access, Service
from kstreams_bigtable.writer import RowsWriter

__all__ = ("BigtableRows",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class BigtableRows(Sink[K, V]):
    """Writes one row per key to a Bigtable table, effectively once.

    The last result of a key in a batch is written; None deletes the row. A column that is left out
    keeps its value; a column with None loses it. All cells of a batch have one timestamp, later
    than those of earlier batches and epochs, so the newest value wins whatever the order of the
    writes. Readers see the rows of a batch appear one after the other. Deletes leave no timestamp,
    so each write first moves the task's fence to its commit, and writes nothing if a later commit
    has moved it. One case remains: a driver that hangs within one request can restore a row that
    another driver has deleted in the meantime.

    The timestamps of an epoch begin at the time it started, so it overwrites existing values.
    Values that others write later hide those of the sink: let only the sink write to its cells. Set
    the column families to keep one version.

    Values that Bigtable cannot store (a type other than text, bytes or int; a key over 4 KB, a cell
    over 100 MB, a column of an unknown family) are rejected individually before anything of the
    batch is written. Rows that Bigtable rejects are rejected individually too, but other rows of
    the batch are written by then, even with `on_refused="fail"`.

    Without a credentials file, Google's application default credentials are used. Required rights:
    `bigtable.tables.mutateRows` and `readRows`, `get` to read the column families, and `create` if
    the table of fences does not exist yet.

    Args:
        project: The Google Cloud project.
        instance: The Bigtable instance.
        table: The table, which must exist.
        row: Builds a row's cells, by `family:column`, from key and value.
        key: Builds the row key; by default the record's key is used.
        profile: The app profile. It must use single-cluster routing, which fences require.
        endpoint: `host:port` of an emulator, used without TLS and credentials.
        credentials_file: The key file of a service account, on the driver and on each worker.
        fence: The sink's own table with the last commit of each task, so that a late attempt of an
            earlier batch deletes nothing; `prepare` creates it if it does not exist.
        give_up_after: The maximum time to retry while Bigtable does not answer.

    Raises:
        ValueError: A name is empty, or a time is negative.
    """

    project: str
    instance: str
    table: str
    _: KW_ONLY
    row: Callable[[K, V], Cells | None]
    key: Callable[[K], str | bytes] | None = None
    profile: str = ""
    endpoint: str | None = None
    credentials_file: str | None = field(default=None, repr=False)
    fence: str = "kstreams_fence"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not all((self.project, self.instance, self.table, self.fence)):
            raise ValueError(
                "project, instance, table and fence= of BigtableRows must not be empty"
            )
        if self.table == self.fence:
            raise ValueError(
                f"table and fence= are both {self.fence!r}: use another table for fence="
            )
        if self.endpoint is not None and self.credentials_file is not None:
            raise ValueError(
                "credentials_file= and endpoint= cannot be combined: an emulator has no credentials"
            )
        if self.give_up_after < timedelta(0):
            raise ValueError(f"give_up_after={self.give_up_after}: must not be negative")

    def __repr__(self) -> str:
        """Return a text without the credentials file and the functions."""
        names = f"{self.project!r}, {self.instance!r}, {self.table!r}"
        return f"BigtableRows({names}, fence={self.fence!r})"

    @property
    @override
    def label(self) -> str:
        return f"bigtable {self.instance}/{self.table}"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "effectively-once"

    def prepare(self) -> None:
        """Check that the table exists, and create the table of fences.

        Raises:
            SinkUnavailableError: Bigtable does not answer.
            SinkError: The table does not exist, or a permission is missing.
        """
        with closing(self._service()) as service:
            service.retried(lambda: service.cells(self.table, b"\0"))
            service.retried(lambda: self._fenced(service))

    @override
    def open(self) -> Writer[K, V]:
        return RowsWriter(self._service(), self.table, self.fence, RowMaker(self.key, self.row))

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because rows are visible as soon as they are written."""

    def _fenced(self, service: Service) -> None:
        if not service.has(self.fence):
            service.make_table(self.fence)

    def _service(self) -> Service:
        access = Access(
            self.project,
            self.instance,
            profile=self.profile,
            endpoint=self.endpoint,
            credentials_file=self.credentials_file,
        )
        return Service(access, self.give_up_after)
