"""Delta and Iceberg tables as sinks: rows per second of one task, and the cost of a small batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pyiceberg.catalog import load_catalog

from benchmarks.connectors.postgres import AT
from benchmarks.measured import Times
from kstreams import Record
from kstreams.sinks import CommitId, Sink
from kstreams_delta import DeltaTable
from kstreams_iceberg import IcebergTable
from kstreams_testing.sink import GivenResults

__all__ = ("tables",)

_SMALL = 20


@dataclass(frozen=True)
class Row:
    """A row of four columns."""

    word: str
    total: int
    price: float
    at: datetime


def row(word: str, total: int) -> Row:
    """Make a row."""
    return Row(word, total, total * 1.5, AT)


def tables(count: int, rounds: int) -> Iterator[tuple[str, float]]:
    """Yield rows per second (best round), and the median ms of a batch of one row.

    Tables are on a local disk. The time covers staging and the commit to the table. Each batch adds
    a version to those of earlier batches.
    """
    with TemporaryDirectory() as folder:
        catalog = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}",
        }
        load_catalog("default", **catalog).create_namespace("shop")
        delta: DeltaTable[str, int] = DeltaTable(str(Path(folder, "delta")), Row, row=row)
        iceberg: IcebergTable[str, int] = IcebergTable("shop.rows", Row, row=row, catalog=catalog)
        sinks: dict[str, Sink[str, int]] = {"Delta": delta, "Iceberg": iceberg}
        for name, sink in sinks.items():
            yield f"{name}, rows a second", count / min(_times(sink, count, rounds, "large"))
        for name, sink in sinks.items():
            small = sorted(_times(sink, 1, _SMALL, "small"))
            yield f"{name}, ms of one row", 1000 * small[_SMALL // 2]


def _times(sink: Sink[str, int], count: int, rounds: int, epoch: str) -> list[float]:
    sink.prepare()
    times = Times()
    with closing(sink.open()) as writer:
        for batch in range(rounds):
            results = GivenResults([Record(f"word-{n}", n, 1_000 + n) for n in range(count)])
            commit = CommitId(epoch, "out", 0, batch)
            with times:
                sink.publish({commit: writer.write(results, commit)})
    return times.wall
