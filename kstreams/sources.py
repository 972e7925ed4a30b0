r"""Sources that are no topics: files, and other places that can be read again by position.

- `Log` is such a place, given to `TopologyBuilder.add_source`: batches are planned on it and
  replayed exactly, as on topics. `LogContents` is its driver's side, `LogReader` that of workers,
  which reads a `Piece` of a plan. `ReadOnce` is the driver's side of one that lets go of what was
  read, of which `LetsGo` says what becomes; `Keeps` says how much is `Kept` for it until then.
- `folder` makes one of a directory: a `FileLog`. `kstreams_s3.objects` and `kstreams_gcs.objects`
  make one of a bucket, `kstreams_sftp.sftp_folder` of a server's directory.
- A `Format` makes records of a file: `Lines` of text or JSON, `Csv` with a row of names, `Parquet`,
  `Whole`; `Gzip` or `Zip` around one of them. It passes over the file in `Mark`s and reads `Rows`.
- `Files` is a place of files, of your own perhaps, which opens each `FileInfo` as `FileData`;
  `is_unfinished` says of which names none is read. `ObjectFiles` is one of a bucket's objects.
- `bounded` makes a `BoundedLog` of another log: each run reads what it holds at its start, and an
  app whose sources are all `Bounded` ends by itself. Topics are unbounded.
- `items` is a list as an `ItemLog`, which is bounded, `rate` numbers at a rate as a `RateLog`: for
  tests and load.
- `WhenRead` says what becomes of a file when all that was made of it is committed: it stays, is
  deleted or goes elsewhere (`MoveTo`), in places that are `FinishedFiles`.

`kstreams.testing` has a `LogContract` to prove a log by.

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
    Keeps,
    Kept,
    LetsGo,
    Log,
    LogContents,
    LogReader,
    Piece,
    ReadOnce,
)
from kstreams.made_logs.bounded_log import BoundedLog, bounded
from kstreams.made_logs.item_log import ItemLog, items
from kstreams.made_logs.rate_log import RateLog, rate
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

__all__ = (
    "Bounded",
    "BoundedLog",
    "Csv",
    "FileData",
    "FileInfo",
    "FileLog",
    "Files",
    "FinishedFiles",
    "Format",
    "Gzip",
    "ItemLog",
    "Keeps",
    "Kept",
    "LetsGo",
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
