"""A table as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.sinks import CommitId, Guarantee, Writer
from kstreams_bigtable.rows import Cells, RowMaker
from kstreams_bigtable.service import Access, Service
from kstreams_bigtable.writer import RowsWriter

__all__ = ("BigtableRows",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class BigtableRows(Generic[K, V]):
    """Keeps a row a key in a table of Bigtable, effectively once.

    The last result of a key in a batch counts; None deletes the row. A column that is left out
    keeps its value, one that is None loses it. All cells of a batch have a timestamp of their own,
    later than those of batches and lives before: the newest wins, whoever comes last. Others see a
    batch's rows one after the other. Deletes leave no trace, so each write claims the task's fence
    first: what is left is a driver that hangs within one request, and brings back what another
    has deleted meanwhile.

    A life's timestamps begin with the time at which it began: it writes over what was there. What
    others write later hides what the sink writes to the same cells: leave the table to the sink.
    Let families keep one version.

    What has no form (another type than text, bytes or int; a key of more than 4 KB, a cell of more
    than 100 MB, a column of no family of the table's) is refused alone before anything of the batch
    is written. What Bigtable itself refuses is refused alone too, but others of the batch are
    written by then, also under `on_refused="fail"`.

    Credentials are Google's application default ones unless a file is named. Rights needed:
    `bigtable.tables.mutateRows` and `readRows`, `get` to know the families, and `create` where the
    table of fences is not there yet.

    Args:
        project: Google's project.
        instance: The instance of Bigtable.
        table: The table, which is there already.
        row: Makes a row's cells, by `family:column`, from key and value.
        key: Makes the row's key; the record's key as it is unless given.
        profile: The app profile. It must be one of single-cluster routing: fences need it.
        endpoint: `host:port` of an emulator, which is spoken to without TLS and credentials.
        credentials_file: Key of a service account, on the driver and on each worker.
        fence: Table of the fences, one row a task; made by `prepare` if it is not there.
        give_up_after: How long to try again while Bigtable does not answer.

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
            raise ValueError("a BigtableRows needs names of project, instance, table and fence")
        if self.table == self.fence:
            raise ValueError("fences need a table of their own")
        if self.endpoint is not None and self.credentials_file is not None:
            raise ValueError("an emulator takes no credentials: leave the file out")
        if self.give_up_after < timedelta(0):
            raise ValueError(f"give_up_after={self.give_up_after}: must not be negative")

    def __repr__(self) -> str:
        """Show all but the file and the functions."""
        names = f"{self.project!r}, {self.instance!r}, {self.table!r}"
        return f"BigtableRows({names}, fence={self.fence!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"bigtable {self.instance}/{self.table}"

    @property
    def guarantee(self) -> Guarantee:
        """Effectively once."""
        return "effectively-once"

    def prepare(self) -> None:
        """See that the table is there, and make that of fences.

        Raises:
            SinkUnavailableError: Bigtable does not answer.
            SinkError: The table is not there, or a right is missing.
        """
        with closing(self._service()) as service:
            service.retried(lambda: service.cells(self.table, b"\0"))
            service.retried(lambda: self._fenced(service))

    def open(self) -> Writer[K, V]:
        """Open a writer, which has channels of its own."""
        return RowsWriter(self._service(), self.table, self.fence, RowMaker(self.key, self.row))

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing: rows are seen when they are written."""

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
