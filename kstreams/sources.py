r"""Sources other than topics, such as files, that can be read again by position.

- `Log` is the interface, for `TopologyBuilder.add_source`: batches of a log are planned and
  replayed exactly, as those of topics. `LogContents` is the driver's part; `LogReader` reads a
  `Piece` of a plan in workers. `ReadOnce` is the driver's part of a log that deletes committed
  records, `DeletesCommitted` describes the deletion, and `RetainsUncommitted` reports the
  `RetainedSize` of uncommitted data.
- `folder` creates a log of a directory: a `FileLog`. `kstreams_s3.objects` and
  `kstreams_gcs.objects` create a log of a bucket, `kstreams_sftp.sftp_folder` of a directory on a
  server.
- A `Format` parses a file into records: `Lines` of text or JSON, `Csv` with a header row,
  `Parquet`, `Whole`; `Gzip` or `Zip` around one of them. A format divides a file by `Mark`s and
  reads `Rows`.
- `Files` is a collection of files, which opens each `FileInfo` as `FileData`; `is_unfinished`
  selects names that are not read yet. `ObjectFiles` has the objects of a bucket.
- `bounded` creates a `BoundedLog` from another log: a run reads the records that exist at its
  start, and an app with only `Bounded` sources ends by itself. Topics are unbounded.
- `items` is a bounded `ItemLog` of a list; `rate` is a `RateLog` of numbers at a fixed rate, for
  tests and load.
- `WhenRead` is the policy for a file after the commit of all its records: the file stays, is
  deleted or is moved (`MoveTo`), in collections that are `FinishedFiles`.

`kstreams.testing` has a `LogContract` to test a log.

Example:
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kstreams import TEXT, TopologyBuilder, map_values
    >>> from kstreams.io import Topic
    >>> from kstreams.sources import Lines, folder
    >>> from kstreams.testing import TopologyTestDriver
    >>> shouts = Topic("shouts", key=TEXT, value=TEXT, null_keys="pass")
    >>> with TemporaryDirectory() as place:
    ...     _ = Path(place, "a.txt").write_text("one\ntwo\n")
    ...     builder = TopologyBuilder("shouting")
    ...     lines = builder.add_source("lines", folder("lines", place, Lines(TEXT)))
    ...     builder.add_sink(
    ...         "out", shouts, builder.add_processor("up", map_values(str.upper), lines)
    ...     )
    ...     with TopologyTestDriver(builder.build(), real_sources=True) as driver:
    ...         driver.run()
    ...         [record.value for record in driver.read(shouts)]
    ['ONE', 'TWO']
"""

from __future__ import annotations

from kstreams.log import (
    Bounded,
    DeletesCommitted,
    Log,
    LogContents,
    LogReader,
    Piece,
    ReadOnce,
    RetainedSize,
    RetainsUncommitted,
)
from kstreams_files.csv_rows import Csv
from kstreams_files.files import FileData, FileInfo, Files
from kstreams_files.finished import FinishedFiles, MoveTo, WhenRead
from kstreams_files.folder import folder
from kstreams_files.format import Format, Mark, Rows
from kstreams_files.gzipped import Gzip
from kstreams_files.lines import Lines
from kstreams_files.local import is_unfinished
from kstreams_files.log import FileLog
from kstreams_files.objects import ObjectFiles
from kstreams_files.parquet import Parquet
from kstreams_files.whole import Whole
from kstreams_files.zipped import Zip
from kstreams_generated_logs.bounded_log import BoundedLog, bounded
from kstreams_generated_logs.item_log import ItemLog, items
from kstreams_generated_logs.rate_log import RateLog, rate

__all__ = (
    "Bounded",
    "BoundedLog",
    "Csv",
    "DeletesCommitted",
    "FileData",
    "FileInfo",
    "FileLog",
    "Files",
    "FinishedFiles",
    "Format",
    "Gzip",
    "ItemLog",
    "Lines",
    "Log",
    "LogContents",
    "LogReader",
    "Mark",
    "MoveTo",
    "ObjectFiles",
    "Parquet",
    "Piece",
    "RateLog",
    "ReadOnce",
    "RetainedSize",
    "RetainsUncommitted",
    "Rows",
    "WhenRead",
    "Whole",
    "Zip",
    "bounded",
    "folder",
    "is_unfinished",
    "items",
    "rate",
)
