"""The log of a collection of files."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams.errors import CompileError
from kstreams.log import LogContents, LogReader
from kstreams.names import TOPIC_RULE, is_topic, shown_name
from kstreams.options import checks_options
from kstreams.partitioner import count_problem
from kstreams.serde.base import Serde
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.times import span_ms
from kstreams_files.contents import FileContents
from kstreams_files.files import Files
from kstreams_files.finished import Finishing, MoveTo, WhenRead, check_when_read
from kstreams_files.format import Format
from kstreams_files.index import FileIndex
from kstreams_files.reader import FileReader
from kstreams_files.steady import SteadyFiles

__all__ = ("FileLog",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@checks_options
@dataclass(frozen=True)
class FileLog(Generic[K, V]):
    """Files as a `Log`: the records of each file in their order, older files first.

    `folder` creates a log of a directory. A new file follows all known files, in the partition with
    the fewest records. The driver scans a file once before it is planned: so a position is the
    number of a record, and lag is counted in records. The timestamp of a record is the modification
    time of its file.

    Args:
        name: The name of the log in checkpoints.
        files: The files.
        format: The format of the files.
        index: The storage of the offsets of files. All readers with this index read the same
            offsets; several apps may share it.
        partitions: The number of partitions, which must never change. One task reads a file.
        look_every: The interval between searches for new files; zero searches for each batch.
        steady_for: The time for which a file must keep its version before it is read, if incomplete
            files may be visible. The first search waits that long.
        when_read: The policy for a file after the commit of its results: `"leave"`, `"delete"` or
            `MoveTo(folder)`. Only one app may read files that are removed.

    Raises:
        CompileError: The name or the number of partitions is invalid, or the files do not support
            `when_read`.
        ValueError: `look_every` or `steady_for` is negative.
    """

    name: str
    files: Files
    format: Format[K, V]
    _: KW_ONLY
    index: ObjectStoreSettings
    partitions: int = 1
    look_every: timedelta = timedelta(0)
    steady_for: timedelta = timedelta(0)
    when_read: WhenRead = "leave"

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not is_topic(self.name):
            raise CompileError(f"{shown_name(self.name)} cannot name a log: use {TOPIC_RULE}")
        if problem := count_problem(self.partitions):
            raise CompileError(f"log {self.name!r}: {problem}")
        span_ms("look_every", self.look_every)
        span_ms("steady_for", self.steady_for)
        check_when_read(self.name, self.files, self.when_read)

    @property
    def key(self) -> Serde[K]:
        """The serde of the keys, from the format."""
        return self.format.key

    @property
    def value(self) -> Serde[V]:
        """The serde of the values, from the format."""
        return self.format.value

    @property
    def label(self) -> str:
        """The text in diagrams: the format and the collection."""
        return f"{self.format.name} of {self.files.label}"

    @property
    def commit_effect(self) -> str:
        """The effect of commits on files, such as `files are deleted`; empty if files stay."""
        if isinstance(self.when_read, MoveTo):
            return f"files go to {self.when_read.folder!r}"
        return "files are deleted" if self.when_read == "delete" else ""

    def contents(self) -> LogContents:
        """Open the log on the driver.

        Raises:
            SourceError: The collection does not exist or cannot be read; or the index belongs to
                another log or cannot be read or written.
        """
        next(iter(self.files.list()), None)  # before the index, which may create the folder
        index = FileIndex(
            self.index.open(),
            str(self.index),
            partitions=self.partitions,
            format_name=self.format.name,
        )
        return FileContents(
            SteadyFiles(self.files, self.steady_for.total_seconds()),
            self.format,
            index,
            self.look_every.total_seconds(),
            Finishing(self.files, self.when_read),
        )

    def reader(self) -> LogReader:
        """Open the log for reading in a worker."""
        return FileReader(self.files, self.format)
