"""A log of the files in a directory of this machine."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from kstreams.options import checks_options
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.log.directory import Directory
from kstreams.times import span_ms
from kstreams_files.finished import WhenRead
from kstreams_files.format import Format
from kstreams_files.local import LocalFiles
from kstreams_files.log import FileLog

__all__ = ("folder",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@checks_options
def folder(
    name: str,
    path: str | os.PathLike[str],
    format: Format[K, V],  # noqa: A002  # the public name of the option
    *,
    pattern: str = "*",
    recursive: bool = False,
    partitions: int = 1,
    min_age: timedelta = timedelta(0),
    look_every: timedelta = timedelta(0),
    index: ObjectStoreSettings | None = None,
    when_read: WhenRead = "leave",
) -> FileLog[K, V]:
    """Return the log of the files in a directory.

    New files are found while the app runs. Add complete files only: write them under a name that
    ends with `.part`, then rename. Names that begin with `.` or `_`, or end with `.part`,
    `.partial`, `.tmp`, `.crdownload` or `~`, are ignored; so are links that lead out of the
    directory. A file that changes or disappears before its records are read is a
    `FileChangedError`; a file that was read may be removed, but must not be changed.

    Args:
        name: The name of the log in checkpoints.
        path: The directory. Executors read it, too: on a cluster it must be on a shared file
            system.
        format: The format of the files: `Lines`, `Csv`, `Parquet`, `Whole`, `Gzip`, `Zip`.
        pattern: The pattern of file names: `*.csv`.
        recursive: Whether to include files of subdirectories.
        partitions: The number of partitions: tasks that read different files at the same time. It
            must never change.
        min_age: The minimum time since the last change of a file, if writers do not rename files.
        look_every: The interval between searches for new files, if there are many; zero searches
            for each batch.
        index: The storage of the offsets of files; by default the directory `.kstreams-NAME` beside
            the files.
        when_read: The policy for a file after the commit of its results: `"leave"`, `"delete"` or
            `MoveTo("_done")`; see `FileLog`.

    Raises:
        CompileError: The name or the number of partitions is invalid.
        ValueError: `min_age` or `look_every` is negative, or the path is a URL.
    """
    given = os.fspath(path)
    if "://" in given:
        raise ValueError(f"{given!r} is a URL, expected the path of a local directory")
    root = Path(given).absolute()
    files = LocalFiles(str(root), pattern, recursive, span_ms("min_age", min_age))
    place = index or Directory(str(root / f".kstreams-{name}"))
    return FileLog(
        name,
        files,
        format,
        index=place,
        partitions=partitions,
        look_every=look_every,
        when_read=when_read,
    )
