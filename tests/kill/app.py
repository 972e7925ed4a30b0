"""The app that is killed: counts words until it is told to finish.

`python -m tests.kill.app FOLDER [BOOTSTRAP]`: embedded topics in the folder, or Kafka.
Everything else it keeps is in the folder too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from devtools.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    App,
    Embedded,
    FixedKeyProcessor,
    Node,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    flat_map,
    key_value_store,
)
from kstreams.io import Connection
from kstreams.stores import KeyValueStore, StoreSpec
from kstreams_rocksdb import RocksDB
from tests.kill.barriers import Barriers, GatedLog, GatedProcess

COUNTS = key_value_store("counts", key=TEXT, value=INT64)
MAX_RECORDS = 200


class CountWords(FixedKeyProcessor[str, None, int]):
    def __init__(self, store: StoreSpec[KeyValueStore[str, int]]) -> None:
        self.store = store

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(self.store)

    def process(self, record: Record[str, None]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def topics(name: str) -> tuple[Topic[bytes, str], Topic[str, int]]:
    """Return the source and the sink of the app of a folder of this name."""
    return Topic(f"{name}-lines", BYTES, TEXT), Topic(f"{name}-totals", TEXT, INT64)


def build(name: str) -> Topology:
    return counting(name)[0].build()


def counting(name: str) -> tuple[TopologyBuilder, Node[str, None], Node[str, int]]:
    """Return the topology, not built yet, its words, and their counts."""
    lines, totals = topics(name)
    builder = TopologyBuilder("kill")
    words = builder.add_processor(
        "split",
        flat_map(lambda _, line: ((word, None) for word in line.split())),
        builder.add_source("lines", lines),
    )
    words = builder.repartition("by-word", words, key=TEXT, value=NONE)
    store = COUNTS.with_changelog(f"{name}-counts")
    counts = builder.add_processor("count", partial(CountWords, store), words, stores=[store])
    builder.add_sink("totals", totals, counts, result_ids=True)
    return builder, words, counts


def connection(folder: Path, bootstrap: str | None) -> Connection:
    if bootstrap is None:
        return Embedded(folder / "topics", default_partitions=2)
    from kstreams import Kafka

    return Kafka(bootstrap)


def main(build: Callable[[str], Topology] = build) -> None:
    folder = Path(sys.argv[1])
    barriers = Barriers(str(folder / "barriers"))
    app = App(
        build(folder.name),
        connection(folder, sys.argv[2] if len(sys.argv) > 2 else None),
        state=RocksDB(log=GatedLog(str(folder / "log"), barriers)),
        checkpoint=folder / "checkpoint",
        max_records_per_batch=MAX_RECORDS,
        interceptors=[GatedProcess(barriers, "count")],
        packages=[],  # PYTHONPATH brings this one to the executors
        on_batch=barriers.on_batch,
        config={
            "spark.master": LOCAL_CLUSTER,
            **QUICK_JVMS,
            "spark.task.maxFailures": "8",
            "spark.python.task.killTimeout": "1h",  # what Spark gives up may live on
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
