"""The time of a batch of 20 records per partition: `python -m benchmarks.scale.batches`.

The app counts by key on embedded topics in RocksDB. The input is written between batches, so the
time is from the first record of a batch to its commit. The requests to the durable log include the
driver's commit; they are the average over the committed batches.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Literal, TypeAlias

from kstreams import (
    INT64,
    TEXT,
    App,
    Embedded,
    Emitter,
    Topic,
    Topology,
    TopologyBuilder,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.app import BatchReport
from kstreams.operators import aggregate, rekey
from kstreams.state.log.traffic import Traffic
from kstreams_rocksdb import RocksDB

Engine: TypeAlias = "Literal['spark', 'embedded']"

__all__ = ("Measured", "main", "measure")

SIZES = (4, 64, 256, 1_000)
_RECORDS = 20
"""The number of records of each partition in a batch."""
_WARM = 3
_MEASURED = 7
_LIMIT_S = 180.0
_SOURCE = Topic("in", TEXT, INT64)


def counting(*, repartition: bool) -> Topology:
    """Return a topology that counts by key, after a repartition if asked."""
    builder = TopologyBuilder("batches")
    node = builder.add_source("in", _SOURCE)
    if repartition:
        changed = builder.add_processor("by-digit", rekey(lambda key, _: key[::-1]), node)
        node = builder.repartition("by-digit-edge", changed, key=TEXT, value=INT64)
    store = timestamped_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor("count", aggregate(count(), store=store), node)
    builder.add_sink("out", Topic("out", TEXT, INT64), counted)
    return builder.build()


@dataclass(frozen=True)
class Measured:
    """The measured batches of an app.

    Attributes:
        seconds: The seconds of each batch.
        puts: The average number of objects that a batch wrote.
        gets: The average number of objects that a batch read.
    """

    seconds: list[float]
    puts: float
    gets: float


def measure(
    home: Path, partitions: int, *, repartition: bool, engine: Engine, measured: int = _MEASURED
) -> Measured:
    """Run an app and measure its batches after the first ones.

    Args:
        home: An empty directory.
        partitions: The number of partitions of the input and output topics.
        repartition: Whether the topology has a repartition.
        engine: `embedded` or `spark`.
        measured: The number of measured batches.

    Raises:
        RuntimeError: The app failed, or a batch was not committed within three minutes.
    """
    topics = Embedded(home / "topics", durable=False)
    for name in ("in", "out"):
        topics.admin().create(name, partitions)
    read: list[tuple[int, float]] = []
    traffic = [Traffic()]

    def note(report: BatchReport) -> None:
        traffic.append(traffic[-1] + report.log)
        read.append((report.source_records, time.perf_counter()))

    app = App(
        counting(repartition=repartition),
        topics,
        state=RocksDB(str(home / "state")),
        checkpoint=home / "checkpoint",
        trigger=timedelta(0),
        engine=engine,
        on_batch=note,
    )
    app.start()
    seconds = []
    warm = 0
    try:
        for number in range(_WARM + measured):
            if number == _WARM:
                warm = len(traffic) - 1
            before = sum(records for records, _ in read)
            _write(topics, partitions, number)
            began = time.perf_counter()
            limit = began + _LIMIT_S
            while sum(records for records, _ in read) < before + partitions * _RECORDS:
                if app.failure is not None or time.perf_counter() > limit:
                    raise RuntimeError(f"batch {number} was not committed") from app.failure
                time.sleep(0.002)
            seconds.append(read[-1][1] - began)
    finally:
        app.close()
    first, last = traffic[warm], traffic[-1]
    batches = len(traffic) - 1 - warm  # the input of one may be read in several
    puts, gets = last.puts - first.puts, last.gets - first.gets
    return Measured(seconds[_WARM:], puts / batches, gets / batches)


def _write(topics: Embedded, partitions: int, number: int) -> None:
    """Write a batch; the keys are spread over the partitions by their hash."""
    with Emitter(_SOURCE, topics) as emitter:
        emitter.emit_many((str(key), number) for key in range(partitions * _RECORDS))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.batches", description=__doc__)
    parser.add_argument("--partitions", type=int, action="append", help=f"default: {SIZES}")
    parser.add_argument("--engine", choices=("embedded", "spark"), default="embedded")
    parser.add_argument("--repartition", action="store_true", help="count after a repartition")
    parser.add_argument(
        "--batches", type=int, default=_MEASURED, help=f"measured batches, default: {_MEASURED}"
    )
    given = parser.parse_args(arguments)
    print("partitions  batch, median s  slowest   PUT   GET")
    for partitions in given.partitions or SIZES:
        with tempfile.TemporaryDirectory(prefix="kstreams-batches-") as home:
            found = measure(
                Path(home),
                partitions,
                repartition=given.repartition,
                engine=given.engine,
                measured=given.batches,
            )
        seconds = f"{median(found.seconds):15.3f}  {max(found.seconds):7.3f}"
        print(f"{partitions:10}  {seconds}  {found.puts:4.1f}  {found.gets:4.1f}", flush=True)


if __name__ == "__main__":
    main()
