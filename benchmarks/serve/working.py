"""An app on Spark under full load: it counts records by key, as fast as possible.

    python -m benchmarks.serve.working PLACE RECORDS

Prints `begun`, then at each commit its time and the number of records read so far.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from pathlib import Path

from benchmarks.engine.on_spark import counting, fill
from kstreams import App, Embedded
from kstreams.app import BatchReport
from kstreams_rocksdb import RocksDB

__all__ = ("CHECKPOINT",)

CHECKPOINT = "checkpoint"
_BATCH = 50_000


def main() -> None:
    home, records = Path(sys.argv[1]), int(sys.argv[2])
    topics = Embedded(home / "topics", durable=False)
    fill(topics, records)
    done = 0

    def on_batch(report: BatchReport) -> None:
        nonlocal done
        done += report.source_records
        print(time.time(), done, flush=True)

    print("begun", flush=True)
    App(
        counting(sink=False),
        topics,
        state=RocksDB(),
        checkpoint=home / CHECKPOINT,
        trigger=timedelta(0),
        max_records_per_batch=_BATCH,
        on_batch=on_batch,
    ).run(until="end")


if __name__ == "__main__":
    main()
