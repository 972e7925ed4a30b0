"""`kstreams state export`: a store as a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.markup import escape

from kstreams.serde.base import Serde
from kstreams.views.view import View
from kstreams_admin.flat_rows import columns_of, key_serde, rows_of
from kstreams_admin.values import plain
from kstreams_cli.consoles import counted, stderr
from kstreams_cli.stores import (
    AppArgument,
    AppState,
    AsOfOption,
    CheckpointOption,
    KeyOption,
    LogOption,
    StoreArgument,
    TopologyOption,
    ValueOption,
)
from kstreams_cli.usage import WrongUsageError

__all__ = ("export",)

_ROWS = 50_000
_COLUMNS = (pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.null())


def export(
    app: AppArgument,
    store: StoreArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Parquet file to write. An existing file is replaced.",
            show_default=False,
        ),
    ],
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    topology: TopologyOption = None,
    key_format: KeyOption = None,
    value_format: ValueOption = None,
    as_of: AsOfOption = None,
) -> None:
    """Export a store to a Parquet file: all partitions, at one committed version.

    Use it to analyze the state with other tools. The columns are key and value, with start_ms and
    end_ms for windows and sessions, timestamp_ms for stores with timestamps, time_ms for slices and
    buffers, and due_ms for buffered results. Versioned stores export the latest version of each
    key; lists have one row per element. Text, numbers, booleans and bytes keep their types; other
    values are JSON text. The file is written atomically.

    Example:
        kstreams state export word-count counts counts.parquet
        kstreams state export shop orders orders.parquet --topology shop.app:topology
    """
    state = AppState.find(app, checkpoint, log)
    with state.view(
        store, topology=topology, key=key_format, value=value_format, as_of=as_of
    ) as view:
        count = _write(view, file)
        version = view.version
    stderr().print(
        f"Wrote [bold]{escape(str(file))}[/]: {counted(count, 'row')} at version {version}."
    )


def _write(view: View[Any], file: Path) -> int:
    columns = columns_of(view)
    makers = [_column(view, name, is_key=n == 0) for n, name in enumerate(columns)]
    schema = pa.schema([(name, kind) for name, (kind, _) in zip(columns, makers, strict=True)])
    # There can be no link there: the name cannot be guessed, and must be free.
    unfinished = file.with_name(f".{file.name[:200]}.{uuid4().hex}")
    count = 0
    try:
        with (
            unfinished.open("xb") as target,
            pq.ParquetWriter(target, schema, compression="zstd") as writer,
        ):
            for rows in _blocks(rows_of(view)):
                arrays = [make([row[n] for row in rows]) for n, (_, make) in enumerate(makers)]
                writer.write_table(pa.table(arrays, schema=schema))
                count += len(rows)
        unfinished.replace(file)
    except OSError as exc:
        raise WrongUsageError(f"cannot write {file}: {exc.strerror or exc}", "FILE") from exc
    finally:
        unfinished.unlink(missing_ok=True)
    return count


def _blocks(rows: Iterator[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    while block := list(islice(rows, _ROWS)):
        yield block


def _column(
    view: View[Any], name: str, *, is_key: bool
) -> tuple[pa.DataType, Callable[[list[Any]], pa.Array]]:
    """Return the Arrow type of an exported column, and a function that converts its values.

    The function takes the Python values of the column, and returns an array of the type.
    """
    serde: Serde[Any] = key_serde(view) if is_key else view.spec.value
    if name.endswith("_ms"):
        kind = pa.int64()
    elif pa.types.is_nested(serde.arrow_type):
        return serde.arrow_type, lambda values: serde.to_arrow(serde.serialize_many(values))
    elif serde.arrow_type in _COLUMNS or serde.type_token is bytes:
        kind = serde.arrow_type
    else:
        return pa.string(), partial(_as_json, serde)
    return kind, lambda values: pa.array(values, kind)


def _as_json(serde: Serde[Any], values: list[Any]) -> pa.Array:
    texts = [json.dumps(plain(value, serde), ensure_ascii=False) for value in values]
    return pa.array(texts, pa.string())
