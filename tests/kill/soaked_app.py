"""The app of the soak: the kill series' counts, and counts of each second, on a fast clock.

`python -m tests.kill.soaked_app FOLDER`: FOLDER/s3.json says where the log is. An hour of
the app's passes in a minute, so that clean-up has what it may delete. Its state is on S3.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from devtools.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from kstreams import INT64, TEXT, App, Embedded, Topic, Topology
from kstreams.aggregators import count
from kstreams.app import SystemClock, Upkeep
from kstreams.durations import seconds
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.kill.app import MAX_RECORDS, connection, counting

FASTER = 60
RETAINED = 10
WINDOWS = TumblingWindows(seconds(1), grace=seconds(10))
RECENT = window_store("recent", key=TEXT, value=INT64)


@dataclass(frozen=True)
class FastClock:
    """The machine's clock, some times as fast."""

    def now_ms(self) -> int:
        return FASTER * SystemClock().now_ms()


def durable_log(folder: Path) -> ObjectStoreSettings:
    """Return where the app of a folder keeps its log."""
    return S3(**json.loads((folder / "s3.json").read_text()))


def per_second(name: str) -> Topic[Windowed[str], int]:
    """Return the topic of the windows of the app of a folder of this name."""
    return Topic(f"{name}-per-second", windowed(TEXT, WINDOWS), INT64)


def build(name: str) -> Topology:
    builder, words = counting(name)
    recent = windowed_aggregate(WINDOWS, count(), store=RECENT)
    builder.add_sink("per-second", per_second(name), builder.add_processor("recent", recent, words))
    return builder.build()


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
