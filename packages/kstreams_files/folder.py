"""The log that a directory of this machine is."""

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
    format: Format[K, V],  # noqa: A002  # what it is
    *,
    pattern: str = "*",
    recursive: bool = False,
    partitions: int = 1,
    min_age: timedelta = timedelta(0),
    look_every: timedelta = timedelta(0),
    index: ObjectStoreSettings | None = None,
    when_read: WhenRead = "leave",
) -> FileLog[K, V]:
    """Return the log that the files of a directory are.

    New files are seen while the app runs. Put them there whole: write them under a name that ends
    with `.part`, then rename. Names that begin with `.` or `_`, or end with `.part`, `.partial`,
    `.tmp`, `.crdownload` or `~`, are left out; so are links that lead out of the directory. A file
    that changes, or is gone, before its records are read is a `FileChangedError`; one that was
    read may be taken away, and must not be changed.

    Args:
        name: Of the log, for its positions in checkpoints.
        path: The directory. Executors read it, too: on a cluster it is on a file system that all
            machines share.
        format: What makes records of a file: `Lines`, `Csv`, `Parquet`, `Whole`, `Gzip`, `Zip`.
        pattern: What names of files have to be like: `*.csv`.
        recursive: Whether files of directories below count.
        partitions: How many tasks may read at once, each another file; never to be changed.
        min_age: How long ago a file must have been changed last, where whoever writes it does
            not rename it.
        look_every: How often to look for new files, where there are many; zero is at each batch.
        index: Where it is written down which file has which offsets; by default the directory
            `.kstreams-NAME` beside the files.
        when_read: What becomes of a file after the commit of what was made of it: `"leave"`,
            `"delete"` or `MoveTo("_done")`; see `FileLog`.

    Raises:
        CompileError: The name or the number of partitions cannot be.
        ValueError: `min_age` or `look_every` is negative, or the path a URL.
    """
    given = os.fspath(path)
    if "://" in given:
        raise ValueError(f"{given!r} is not a directory of this machine")
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
