"""The app of the kill tests: counts words until it is stopped.

Run it by `python -m tests.kill.counting_app FOLDER [BOOTSTRAP]`, with embedded topics in the
folder, or on Kafka, with exactly-once results if there is a file `exactly-once`. Everything else is
in the folder too, except for a checkpoint on S3 if `checkpoint.json` has its settings.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from devtools.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from kstreams import (
    BYTES,
    INT64,
    TEXT,
    App,
    Embedded,
    Node,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.connection import Connection
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.support.apps.word_counter import COUNTS, count_words
from tests.support.processes.batch_barriers import Barriers, GatedLog, GatedProcess

MAX_RECORDS = 200


def topics(name: str) -> tuple[Topic[bytes, str], Topic[str, int]]:
    """Return the source and the sink of the app whose folder has this name."""
    return Topic(f"{name}-lines", BYTES, TEXT), Topic(f"{name}-totals", TEXT, INT64)


def build(name: str) -> Topology:
    return counting(name)[0].build()


def counting(name: str) -> tuple[TopologyBuilder, Node[str, None], Node[str, int]]:
    """Return the topology, not built yet, its words, and their counts."""
    lines, totals = topics(name)
    builder = TopologyBuilder("kill")
    words, counts = count_words(builder, lines, totals, COUNTS.with_changelog(f"{name}-counts"))
    return builder, words, counts


def connection(folder: Path, bootstrap: str | None) -> Connection:
    if bootstrap is None:
        return Embedded(folder / "topics", default_partitions=2)
    from kstreams import Kafka

    return Kafka(bootstrap, delivery="exactly-once" if once(folder).exists() else "at-least-once")


def once(folder: Path) -> Path:
    """Return the file that makes an app write to Kafka exactly once."""
    return folder / "exactly-once"


def checkpoint(folder: Path) -> Path | S3:
    """Return the place of the checkpoint of an app."""
    settings = folder / "checkpoint.json"
    return S3(**json.loads(settings.read_text())) if settings.exists() else folder / "checkpoint"


def main(build: Callable[[str], Topology] = build) -> None:
    folder = Path(sys.argv[1])
    barriers = Barriers(str(folder / "barriers"))
    app = App(
        build(folder.name),
        connection(folder, sys.argv[2] if len(sys.argv) > 2 else None),
        state=RocksDB(log=GatedLog(str(folder / "log"), barriers)),
        checkpoint=checkpoint(folder),
        max_records_per_batch=MAX_RECORDS,
        interceptors=[GatedProcess(barriers, "count")],
        packages=[],  # PYTHONPATH has this one on the executors
        on_batch=barriers.on_batch,
        config={
            "spark.master": LOCAL_CLUSTER,
            **QUICK_JVMS,
            "spark.task.maxFailures": "8",
            "spark.python.task.killTimeout": "1h",  # tasks that Spark has abandoned may continue
            "spark.log.level": "WARN",
        },
    )
    with app:
        app.open()
        while not (folder / "finish").exists():
            app.drain()
            time.sleep(0.1)
        app.drain()


if __name__ == "__main__":
    main()
