"""A sink that writes a file for each result; a user function determines the path."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, TypeVar

from typing_extensions import override

from kstreams import Record
from kstreams.errors import InvalidNameError
from kstreams.sinks import CommitId, RefusedRow, Results, Sink, Writer
from kstreams_objects.place import Place, as_place
from kstreams_objects.staged import StagedFiles, Stager, checked_path, storage_errors
from kstreams_rows.encoding import made
from kstreams_rows.refusing import Refusals, refused

__all__ = ("FileForEach",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_PATH_BYTES = 900
"""The maximum bytes of a path: Google and S3 allow 1,024, prefix included."""


@dataclass(frozen=True, repr=False)
class FileForEach(StagedFiles, Sink[K, V]):
    """Writes each result as a separate file, exactly once; the last result of a path wins.

    Files are staged below `_staged/` while the batch runs, and each is renamed atomically when the
    batch is committed. A file replaces an existing file of its path.

    Results with an invalid path are rejected individually: a path with a segment that is empty,
    `..`, or begins with `.` or `_`; a path that is too long; and a blocked path, which needs a
    folder where a file exists, or the reverse.

    Args:
        place: A directory's path, which driver and workers share, or settings of a storage:
            `kstreams_s3.S3(...)`, `kstreams_gcs.GCS(...)`, `kstreams_sftp.Sftp(...)`.
        path: Builds the file's path below `place`, with segments separated by `/`. Records that a
            source reads with the format `Whole` have the path of their file as key, and in the
            header `kstreams-file`.
        body: Builds the file's bytes; None skips the result.

    Raises:
        TypeError: `place` is neither a path nor the settings of a storage.
        ValueError: The path is a URL, or empty.
    """

    place: str | os.PathLike[str] | Place
    _: KW_ONLY
    path: Callable[[Record[K, V]], str]
    body: Callable[[Record[K, V]], bytes | None]
    replaces: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_place(self.place)

    def __repr__(self) -> str:
        """Return a text without the functions, and no secret."""
        return f"FileForEach({as_place(self.place).place!r})"

    @override
    def open(self) -> Writer[K, V]:
        with storage_errors():
            return _EachWriter(self)


class _EachWriter(Writer[K, V]):
    """A `Writer` that stages a file for each result."""

    def __init__(self, sink: FileForEach[K, V]) -> None:
        self._sink = sink
        self._stager = Stager(sink.store)

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return receipts with the paths of the staged files."""
        records = results.records()
        found, wrong = made(records, self._file)
        with storage_errors():
            kept, hindered = self._free(records, found)
        Refusals(results, "the storage").reject(
            sorted([*wrong, *hindered], key=lambda row: row.row)
        )
        with storage_errors():
            return [self._stager.stage(commit, path, data) for path, data in kept.items()]

    def close(self) -> None:
        """Do nothing, because the writer holds no resources."""

    def _file(self, record: Record[K, V]) -> tuple[str, bytes] | None:
        body: object = self._sink.body(record)
        if body is None:
            return None
        if not isinstance(body, bytes):
            raise TypeError(f"body= returned a {type(body).__name__}; expected bytes, or None")
        path = checked_path(self._sink.path(record), "file")
        if len(path.encode()) > _PATH_BYTES:
            raise InvalidNameError(
                f"the path {path[:80]!r}… has more than {_PATH_BYTES} bytes",
                name=path,
                hint="return a shorter path from path=.",
            )
        return path, body

    def _free(
        self, records: Sequence[Record[K, V]], found: Sequence[tuple[int, tuple[str, bytes]]]
    ) -> tuple[dict[str, bytes], list[RefusedRow]]:
        """Return the last file of each path, and the rows whose path is blocked."""
        kept: dict[str, bytes] = {}
        folders: set[str] = set()
        wrong: list[RefusedRow] = []
        for number, (path, data) in found:
            if path not in kept:
                above = _above(path)
                taken = path in folders or not kept.keys().isdisjoint(above)
                said = "another result of the batch" if taken else self._sink.store.obstacle(path)
                if said:
                    reason = f"{path!r} cannot be written, because there is {said}"
                    wrong.append(refused(number, records[number], reason, value=path))
                    continue
                folders.update(above)
            kept[path] = data
        return kept, wrong


def _above(path: str) -> list[str]:
    """Return the folders that a path needs."""
    steps = path.split("/")
    return ["/".join(steps[:count]) for count in range(1, len(steps))]
