"""The app of the soak test: the counts of the kill tests and more exact results, on a fast clock.

It counts words by the second, counts words in a loop, and looks up the row of each word in a global
table that changes meanwhile.

Run it by `python -m tests.kill.soak_app FOLDER`; FOLDER/s3.json has the settings of the durable
log on S3. An hour of the app's time passes in a minute, so that clean-up has old objects to delete.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from devtools.spark_home import LOCAL_CLUSTER, QUICK_JVMS
from kstreams import (
    INT64,
    TEXT,
    App,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
)
from kstreams.aggregators import count
from kstreams.app import SystemClock, Upkeep
from kstreams.durations import seconds
from kstreams.joins import inner
from kstreams.operators import flat_map_values
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.stores import key_value_store, timestamped_store, window_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_rocksdb import RocksDB
from kstreams_s3 import S3
from tests.kill.counting_app import MAX_RECORDS, checkpoint, connection, counting

FASTER = 60
RETAINED = 10
WINDOWS = TumblingWindows(seconds(1), grace=seconds(10))
RECENT = window_store("recent", key=TEXT, value=INT64)
HOPS = 2
"""Number of times each word passes the loop."""
ROUNDS = key_value_store("rounds", key=TEXT, value=INT64)
ROWS = timestamped_store("rows", key=TEXT, value=INT64)


@dataclass(frozen=True)
class FastClock:
    """The machine's clock, accelerated."""

    def now_ms(self) -> int:
        return FASTER * SystemClock().now_ms()


def durable_log(folder: Path) -> ObjectStoreSettings:
    """Return the durable log of an app."""
    return S3(**json.loads((folder / "s3.json").read_text()))


def per_second(name: str) -> Topic[Windowed[str], int]:
    """Return the topic of the windows of the app whose folder has this name."""
    return Topic(f"{name}-per-second", windowed(TEXT, WINDOWS), INT64)


def rows(name: str) -> Topic[str, int]:
    """Return the topic of the global table of the app whose folder has this name."""
    return Topic(f"{name}-rows", TEXT, INT64)


def seen(name: str) -> Topic[str, int]:
    """Return the topic of the rows found in the global table."""
    return Topic(f"{name}-seen", TEXT, INT64)


class CountRounds(FixedKeyProcessor[str, int, int]):
    """Counts each word, and forwards it while it has rounds left."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.rounds = context, context.store(ROUNDS)

    def process(self, record: Record[str, int]) -> None:
        self.rounds.put(record.key, (self.rounds.get(record.key) or 0) + 1)
        if record.value:
            self.context.forward(record.with_value(record.value - 1))


def build(name: str) -> Topology:
    builder, words, _ = counting(name)
    recent = windowed_aggregate(WINDOWS, count(), store=RECENT)
    builder.add_sink("per-second", per_second(name), builder.add_processor("recent", recent, words))
    again = builder.add_loop("again", key=TEXT, value=INT64, max_hops=HOPS)
    begun = builder.add_processor("begin", flat_map_values(lambda _: [HOPS]), words)
    rounds = builder.add_processor("rounds", CountRounds, begun, again, stores=[ROUNDS])
    builder.close_loop(again, rounds)
    table = builder.add_global_table("rows", rows(name), store=ROWS)
    found = builder.join_global(
        "join", begun, table, inner(lambda _, row: row), by=lambda word, _: word
    )
    builder.add_sink("seen", seen(name), found)
    return builder.build()


def main() -> None:
    folder = Path(sys.argv[1])
    topics = connection(folder, sys.argv[2] if len(sys.argv) > 2 else None)
    app = App(
        build(folder.name),
        topics,
        state=RocksDB(directory=str(folder / "local"), log=durable_log(folder)),
        checkpoint=checkpoint(folder),
        max_records_per_batch=MAX_RECORDS,
        packages=[],  # PYTHONPATH has this one on the executors
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
