"""
The app of the soak: the kill series' counts, its state on S3, on a clock that runs fast.

`python -m tests.kill.soaked_app FOLDER`: FOLDER/s3.json says where the log is. An hour of
the app's passes in a minute, so that clean-up has what it may delete.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from kstreams import App, Embedded, SystemClock, Upkeep
from kstreams.state.objects import ObjectStoreSettings
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.cluster.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from tests.kill.app import MAX_RECORDS, build, connection

FASTER = 60
RETAINED = 10


@dataclass(frozen=True)
class FastClock:
    """The machine's clock, some times as fast."""

    def now_ms(self) -> int:
        return FASTER * SystemClock().now_ms()


def durable_log(folder: Path) -> ObjectStoreSettings:
    """Return where the app of a folder keeps its log."""
    return S3(**json.loads((folder / "s3.json").read_text()))


def main() -> None:
    folder = Path(sys.argv[1])
    topics = connection(folder, None)
    assert isinstance(topics, Embedded)
    app = App(
        build(folder.name),
        topics,
        state=RocksDB(directory=str(folder / "local"), log=durable_log(folder)),
        checkpoint=folder / "checkpoint",
        max_records_per_batch=MAX_RECORDS,
        packages=[],  # PYTHONPATH brings this one to the executors
        clock=FastClock(),
        retained_batches=RETAINED,
        upkeep=Upkeep(max_deltas=20, floor_bytes=20_000, chunk_bytes=10_000),
        config={
            **QUICK_JVMS,
            "spark.master": LOCAL_CLUSTER,
            "spark.task.maxFailures": "8",
            "spark.log.level": "WARN",
        },
    )
    with app:
        app.open()
        while not (folder / "finish").exists():
            app.drain()
            time.sleep(0.05)
        app.drain()


if __name__ == "__main__":
    main()
