"""Read segments by their names, on the driver and on executors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from kstreams.embedded.rows import COLUMNS, decode, stored_bytes
from kstreams.embedded.segment import Segment
from kstreams.errors import CorruptSegmentError, DataLossError, ExecutionError, Where

__all__ = ("read_segment", "segment_bytes")


def read_segment(
    root: Path,
    segment: Segment,
    from_offset: int | None = None,
    to_offset: int | None = None,
    columns: Sequence[str] = COLUMNS,
    max_bytes: int | None = None,
) -> pa.Table:
    """Read the rows of a segment without a log; see `EmbeddedLog.read`.

    Args:
        root: Directory of the topics.
        segment: A segment of a topic below the directory.
        from_offset: First offset; the segment's first if None or smaller.
        to_offset: Exclusive end offset; the segment's end if None or larger.
        columns: Some of `COLUMNS`.
        max_bytes: Stop after the rows exceed this size.

    Raises:
        CorruptSegmentError: The file is damaged.
        DataLossError: The file was deleted.
        ValueError: A column does not exist.
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise ValueError(f"unknown columns {unknown}, expected some of {', '.join(COLUMNS)}")
    first, end = segment.first_offset, segment.end_offset
    start = min(max(first, first if from_offset is None else from_offset), end)
    stop = max(start, min(end, end if to_offset is None else to_offset))
    path = _path(root, segment)
    try:
        return decode(
            path,
            encoding=segment.encoding,
            rows=segment.count,
            start=start - first,
            stop=stop - first,
            first_offset=first,
            columns=columns,
            max_bytes=max_bytes,
        )
    except (OSError, ValueError, pa.ArrowException) as exc:
        raise _unreadable(segment, path, exc) from exc


def segment_bytes(root: Path, segment: Segment) -> int:
    """Return the approximate number of bytes of a segment's rows in memory.

    Raises:
        CorruptSegmentError: The file is damaged.
        DataLossError: The file was deleted.
    """
    path = _path(root, segment)
    try:
        return stored_bytes(path, segment.encoding)
    except (OSError, ValueError, pa.ArrowException) as exc:
        raise _unreadable(segment, path, exc) from exc


def _path(root: Path, segment: Segment) -> Path:
    return root / segment.topic / str(segment.partition) / segment.name


def _unreadable(segment: Segment, path: Path, exc: Exception) -> ExecutionError:
    where = Where(topic=segment.topic, partition=segment.partition, offset=segment.first_offset)
    if isinstance(exc, FileNotFoundError):
        return DataLossError(
            f"the segment {path} is gone",
            hint="Restore the file, or have the app start after its offsets.",
            where=where,
        )
    return CorruptSegmentError(
        f"cannot read {path}: {exc}", hint="Restore the file from a copy.", where=where
    )
