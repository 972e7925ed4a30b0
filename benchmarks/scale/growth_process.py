"""Stores an increasing number of keys in one app, and measures batches in between.

To grow, the app reads many records of new keys per batch. To be measured, the app continues from
the same checkpoint with batches that have a fixed number of records with different keys. The first
batches are not measured. One process does all of this, so that the JVM stays warm. The counts of
the measured batches are read back and checked.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
from confluent_kafka import Producer

from benchmarks.scale.growth import TOUCHED, WARM, Point, Touched
from benchmarks.scale.keys import Numbers, names
from benchmarks.suite.check import check
from benchmarks.suite.cluster import Output
from benchmarks.suite.dataset import START_MS
from benchmarks.suite.formats import decoder
from benchmarks.suite.process_tree import Sampler, cpu_between
from benchmarks.suite.registry import workload_by
from benchmarks.suite.workload import Expected
from devtools.servers.silent_logger import SILENT
from kstreams import App, Kafka
from kstreams.app import BatchReport, Traffic
from kstreams_rocksdb import RocksDB

LOADING = 250_000
_CHUNK = 50_000
_WORKLOAD = workload_by("W2")


class Growth:
    """One app on one checkpoint, its input, and its expected counts."""

    def __init__(self) -> None:
        self._bootstrap = os.environ["BENCH_BOOTSTRAP"]
        self._input, self._sink = os.environ["BENCH_INPUT"], os.environ["BENCH_OUTPUT"]
        self._random = np.random.default_rng(7)
        self._again: Counter[int] = Counter()  # additional records by key
        self._stored = self._written = self._done = 0
        self._sampler = Sampler(os.getsid(0))
        self._output = Output(self._bootstrap, self._sink, decoder("windowed", _WORKLOAD))
        self._producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "enable.idempotence": True,
            },
            logger=SILENT,
        )

    def grow(self, entries: int) -> None:
        """Store the given number of keys."""
        for start in range(self._stored, entries, _CHUNK):
            self._write(np.arange(start, min(entries, start + _CHUNK)))
        self._stored = entries
        self._run(LOADING)
        self._output.skip()

    def measure(self, touched: Touched, batches: int) -> Point:
        """Run batches, and return the cost of the batches after the warm-up.

        Raises:
            SystemExit: A count is wrong.
        """
        for _ in range(WARM + batches):
            numbers = np.arange(TOUCHED)
            if touched == "drawn":
                numbers = self._random.choice(self._stored, TOUCHED, replace=False)
            self._again.update(numbers.tolist())
            self._write(numbers)
        reports = self._run(TOUCHED)[WARM - 1 : WARM + batches]
        self._check()
        begin, end = reports[0][0], reports[-1][0]
        log = sum((report.log for _, report in reports[1:]), Traffic())
        count = len(reports) - 1
        samples = self._sampler.samples
        return Point(
            entries=self._stored,
            touched=touched,
            batch_s=[round(later[0] - earlier[0], 4) for earlier, later in pairwise(reports)],
            cpu_s=cpu_between(samples, begin, end) / count,
            puts=log.puts / count,
            put_bytes=log.put_bytes / count,
            peak_bytes=max((s.pss for s in samples if begin <= s.when <= end), default=0),
        )

    def close(self) -> None:
        """Close the consumer of the output topic and stop the sampler."""
        self._output.close()
        self._sampler.stop()

    def _write(self, numbers: Numbers) -> None:
        for key in names(numbers):
            time_ms = START_MS + self._written
            while True:
                try:
                    self._producer.produce(self._input, b"1", key, timestamp=time_ms)
                    break
                except BufferError:
                    self._producer.poll(0.1)
            self._written += 1
        if self._producer.flush(300):
            raise SystemExit("the broker did not take all records")

    def _run(self, most: int) -> list[tuple[float, BatchReport]]:
        """Run to the end of the topic; return each batch with its commit time."""
        reports: list[tuple[float, BatchReport]] = []

        def on_batch(report: BatchReport) -> None:
            if report.source_records:
                reports.append((time.monotonic(), report))
                self._done += report.source_records
                print(f"progress {self._done}", flush=True)

        if _WORKLOAD.topology is None:
            raise SystemExit(f"{_WORKLOAD.name} has no topology")
        App(
            _WORKLOAD.topology(self._input, self._sink, "auto"),
            Kafka(self._bootstrap),
            state=RocksDB(),
            checkpoint=Path(os.environ["BENCH_HOME"]) / "checkpoint",
            trigger=timedelta(0),
            max_records_per_batch=most,
            config={"spark.driver.memory": "1g"},
            on_batch=on_batch,
        ).run(until="end")
        return reports

    def _check(self) -> None:
        self._output.read()
        numbers = np.fromiter(self._again, np.int64)
        counts = zip(names(numbers), self._again.values(), strict=True)
        expected: Expected = {(key, 0, 0): (1 + again, None) for key, again in counts}
        verdict = check(expected, self._output.results, timestamps=False)
        if not verdict.right:
            raise SystemExit(f"with {self._stored:,} keys: {'; '.join(verdict.problems)}")


def points(sizes: list[int], batches: int) -> Iterator[Point]:
    """Measure at each size, with each kind of touched keys."""
    growth = Growth()
    try:
        for entries in sizes:
            growth.grow(entries)
            for touched in get_args(Touched):
                yield growth.measure(touched, batches)
    finally:
        growth.close()


def main() -> None:
    given = os.environ
    found = points(json.loads(given["BENCH_KEYS"]), int(given["BENCH_BATCHES"]))
    text = json.dumps([asdict(point) for point in found])
    (Path(given["BENCH_HOME"]) / "points.json").write_text(text)


if __name__ == "__main__":
    main()
