"""The format of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kstreams.errors import DeserializationError, SerializationError
from kstreams.quoting import text_of
from kstreams.serde.base import Serde
from kstreams.serde.csv_columns import CsvColumn, columns_of
from kstreams.serde.csv_row import csv_row
from kstreams.serde.none import NONE
from kstreams_files.files import FileData
from kstreams_files.format import Format, Mark, Rows
from kstreams_files.parquet_footer import check_footer
from kstreams_files.seekable import Seekable

__all__ = ("Parquet",)

V = TypeVar("V")
"""Type of the rows."""

_BATCH_ROWS = 10_000
_BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Parquet(Format[None, V]):
    """The format of Parquet files: each row is an object of a type; keys are null.

    Columns are fields of the type, matched by name; other columns are not read. A field without a
    column needs a default. Numbers of other widths are accepted, such as an int32 column for `int`;
    times must have a time zone. A row with an invalid value cannot be decoded.

    Args:
        type_: A type as for `csv_row`. Values are passed to processors in the format of `csv_row`.
        max_group_bytes: The maximum uncompressed bytes of a row group, because a worker holds a row
            group in memory. A file with a larger row group cannot be read.
        max_group_rows: The maximum rows of a row group; a file with a larger row group cannot be
            read.
    """

    type_: type[V]
    max_group_bytes: int = 1024 * 1024 * 1024
    max_group_rows: int = 100_000_000
    key: Serde[None] = field(default=NONE, init=False)
    value: Serde[V] = field(init=False, compare=False)
    name: str = field(default="parquet", init=False)
    reads_anywhere = True

    def __post_init__(self) -> None:
        """Create the serde; raises the errors of `csv_row`."""
        object.__setattr__(self, "value", csv_row(self.type_))

    @property
    def _columns(self) -> tuple[CsvColumn, ...]:
        return columns_of(self.type_)

    def scan(self, data: FileData) -> Iterator[Mark]:
        """Yield marks of row groups from the footer, without reading rows."""
        file = _opened(data, ())
        for column in self._columns:
            _check(column, file.schema_arrow)
        place = row = 0
        yield Mark(0, 0)
        for group in range(file.metadata.num_row_groups):
            about = file.metadata.row_group(group)
            if about.total_byte_size > self.max_group_bytes:
                raise DeserializationError(
                    f"row group {group + 1} has {about.total_byte_size:,} bytes, more than "
                    f"{self.max_group_bytes:,}",
                    hint="raise max_group_bytes of Parquet, or write smaller row groups.",
                )
            if not 0 <= about.num_rows <= self.max_group_rows:
                raise DeserializationError(
                    f"row group {group + 1} has {about.num_rows:,} rows, more than "
                    f"{self.max_group_rows:,}",
                    hint="if the file is legitimate, raise max_group_rows of Parquet.",
                )
            place += max(about.total_byte_size, 1)
            row += about.num_rows
            yield Mark(row, place)

    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Read row groups; unreadable rows of a damaged row group are records with errors."""
        texts = [column.name for column in self._columns if pa.types.is_string(column.arrow)]
        file = _opened(data, texts)
        first = 0
        for group in range(file.metadata.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if first >= mark.record:
                yield from self._group(file, group, count)
            first += count

    def _group(self, file: pq.ParquetFile, group: int, count: int) -> Iterator[Rows]:
        names = [c.name for c in self._columns if c.name in file.schema_arrow.names]
        done = 0
        why = "the footer has a higher row count than the row groups together"
        try:
            for batch in file.iter_batches(_BATCH_ROWS, [group], columns=names, use_threads=False):
                for part in _parts(batch.slice(0, count - done)):
                    yield self._rows(part)
                    done += part.num_rows
        except (pa.ArrowException, OSError) as exc:
            why = f"row group {group + 1} is damaged: {text_of(exc)}"
        while done < count:
            bad = min(count - done, _BATCH_ROWS)
            yield Rows(pa.nulls(bad, pa.binary()), wrong=dict.fromkeys(range(bad), why))
            done += bad

    def _rows(self, batch: pa.RecordBatch) -> Rows:
        try:
            return Rows(self._encoded(batch))
        except (pa.ArrowException, SerializationError):
            pass
        values: list[bytes | None] = []
        wrong: dict[int, str] = {}
        for row in range(batch.num_rows):
            try:
                values.append(self._encoded(batch.slice(row, 1))[0].as_py())
            except (pa.ArrowException, SerializationError) as exc:
                values.append(None)
                wrong.update({row: text_of(exc)})
        return Rows(pa.array(values, pa.binary()), wrong=wrong)

    def _encoded(self, batch: pa.RecordBatch) -> pa.Array:
        """Encode rows in the format of the serde."""
        columns = [_filled(column, batch) for column in self._columns]
        struct = pa.StructArray.from_arrays(columns, [column.name for column in self._columns])
        return self.value.from_arrow(pa.ExtensionArray.from_storage(self.value.arrow_type, struct))


def _opened(data: FileData, texts: Sequence[str]) -> pq.ParquetFile:
    """Open a file; the columns `texts` are read as dictionaries."""
    check_footer(data)
    try:
        return pq.ParquetFile(Seekable(data), read_dictionary=list(texts))
    except (pa.ArrowException, OSError) as exc:
        raise DeserializationError(
            f"the content is not a complete Parquet file: {text_of(exc)}"
        ) from exc


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch with large texts; many rows may share one text of a dictionary."""
    if batch.num_rows > 1 and _text_bytes(batch) > _BATCH_BYTES:
        half = batch.num_rows // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))
    else:
        yield batch


def _text_bytes(batch: pa.RecordBatch) -> int:
    """Return the total bytes of the dictionary texts of all rows, counting repeated texts."""
    return sum(
        pc.sum(pc.take(pc.binary_length(column.dictionary), column.indices)).as_py() or 0
        for column in batch.columns
        if _is_text_dictionary(column.type)
    )


def _check(column: CsvColumn, schema: pa.Schema) -> None:
    """Raise `DeserializationError` if a file has no suitable column for a field."""
    if column.name not in schema.names:
        if not column.required:
            return
        near = get_close_matches(column.name, schema.names, n=1)
        guess = f" (did you mean {near[0]!r}?)" if near else ""
        raise DeserializationError(f"the file has no column {column.name!r}{guess}")
    found = schema.field(column.name).type
    zoned = not pa.types.is_timestamp(found) or found.tz is not None
    text = pa.types.is_string(column.arrow)
    textual = any(
        is_it(found)
        for is_it in (pa.types.is_string, pa.types.is_large_string, _is_text_dictionary)
    )
    if zoned and (textual or not text):
        try:
            pa.array([], found).cast(column.arrow)
        except pa.ArrowException:
            pass
        else:
            return
    raise DeserializationError(
        f"column {column.name!r} has the type {found}, expected {column.arrow}"
    )


def _is_text_dictionary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type))


def _filled(column: CsvColumn, batch: pa.RecordBatch) -> pa.Array:
    """Return a field's column of a batch, or a column of the field's default."""
    if column.name in batch.schema.names:
        return batch.column(column.name).cast(column.arrow)
    return pa.array([column.default] * batch.num_rows, column.arrow)
