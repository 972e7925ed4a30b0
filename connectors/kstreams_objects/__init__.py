"""Results as files of a directory, or as objects in S3, exactly once.

Read `Objects` first: a sink that writes a file for each task and batch, as JSON lines, CSV or
Parquet. `FileForEach` writes a file for each result. A file is staged before the commit, and
renamed atomically to its final name after the commit. Depends on pyarrow and on the core's
contracts. `kstreams_s3` adds storage in S3, `kstreams_gcs` in Google Cloud Storage, and
`kstreams_sftp` on SFTP servers.

Example:
    >>> from kstreams_objects import JsonLines, Objects
    >>> orders = Objects(
    ...     "/data/orders",
    ...     format=JsonLines(),
    ...     row=lambda word, total: {"word": word, "total": total},
    ... )
    >>> orders.guarantee
    'exactly-once'
    >>> orders
    Objects('/data/orders', format=JsonLines(gzip=False))
"""

from __future__ import annotations

from kstreams_objects.for_each import FileForEach
from kstreams_objects.formats import Columns, CsvTable, FileFormat, JsonLines
from kstreams_objects.parquet import Parquet
from kstreams_objects.place import MovingStore, Place
from kstreams_objects.sink import Objects

__all__ = (
    "Columns",
    "CsvTable",
    "FileForEach",
    "FileFormat",
    "JsonLines",
    "MovingStore",
    "Objects",
    "Parquet",
    "Place",
)
