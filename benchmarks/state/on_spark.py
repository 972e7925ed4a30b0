"""Access to state in a Spark worker: the library's stores, and Spark's `ValueState` in Python.

Both cases use the same session, keys and number of records. In each worker, the time covers only
the get and the put (or update) of each record's key, in the second of two batches.
`transformWithState` needs protobuf, which the group `bench` installs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's convention
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from kstreams import INT64, TEXT, App, Embedded, Topic, TopologyBuilder, key_value_store
from kstreams.partitioner import partition_of
from kstreams.processors import BatchProcessor
from kstreams.spark.session import app_session
from kstreams_rocksdb import RocksDB

__all__ = ("side_by_side",)

_PARTITIONS = 2
_KEYS = 1_000
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN = Topic("in", TEXT, INT64)
OUT = Topic("out", INT64, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class TimedCount(BatchProcessor[str, int, int, int]):
    """Counts by key, and forwards the number of records and the elapsed nanoseconds."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)

    def process_batch(self, table: pa.Table) -> None:
        keys, get, put = table.column("key").to_pylist(), self.counts.get, self.counts.put
        begin = time.perf_counter_ns()
        for key in keys:
            put(key, (get(key) or 0) + 1)
        spent = time.perf_counter_ns() - begin
        batch = table.column("timestamp")[0].as_py()
        self.context.forward(pa.table({"key": [len(keys)], "value": [spent], "timestamp": [batch]}))


class TimedValueState(StatefulProcessor):
    """`TimedCount` on a `ValueState`."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803  # Spark's names
        number = sum(1 for _ in rows)
        begin = time.perf_counter_ns()
        for _ in range(number):
            found = self.count.get()
            self.count.update(((found[0] if found else 0) + 1,))
        yield Row(records=number, spent=time.perf_counter_ns() - begin)

    def close(self) -> None:
        pass


def side_by_side(home: Path, smoke: bool) -> dict[str, Any]:
    """Run both, and print the records per second of one worker in each."""
    records = 2_000 if smoke else 40_000
    session = app_session("state benchmark", config={"spark.master": f"local[{_PARTITIONS}]"})
    session.conf.set("spark.sql.shuffle.partitions", str(_PARTITIONS))
    session.conf.set("spark.sql.streaming.stateStore.providerClass", _PROVIDER)
    ours = _ours(session, home, records)
    found = {"kstreams": ours}
    print(f"\n{records:,} records of {_KEYS:,} keys; get and put pairs per second of one worker")
    print(f"{'kstreams, RocksDB':34}{ours:12,.0f}")
    theirs = _theirs(session, home, records)
    print(f"{'transformWithState, ValueState':34}{theirs:12,.0f}")
    print(f"{'ratio':34}{ours / theirs:12.1f}")
    return {**found, "transformWithState": theirs}


def _ours(session: SparkSession, home: Path, records: int) -> float:
    builder = TopologyBuilder("state-benchmark")
    node = builder.add_processor("count", TimedCount, builder.add_source("in", IN), stores=[COUNTS])
    builder.add_sink("out", OUT, node)
    connection = Embedded(home / "topics", default_partitions=_PARTITIONS, durable=False)
    log = connection.log()
    log.ensure(IN.name, _PARTITIONS)
    log.ensure(OUT.name, _PARTITIONS)
    app = App(
        builder.build(),
        connection,
        state=RocksDB(directory=str(home / "local")),
        checkpoint=home / "checkpoint",
        spark=session,
        trigger=timedelta(0),
        max_records_per_batch=10 * records,
        parallelism=_PARTITIONS,
    )
    keys = [f"key-{n}" for n in range(_KEYS)]
    with app:
        app.open()
        for batch in range(2):
            for partition in range(_PARTITIONS):
                own = [key for key in keys if partition_of(key.encode(), _PARTITIONS) == partition]
                rows = (own * (records // len(own) + 1))[: records // _PARTITIONS]
                table = pa.table(
                    {
                        "timestamp": pa.array([batch] * len(rows), pa.int64()),
                        "key": pa.array([key.encode() for key in rows], pa.binary()),
                        "value": INT64.serialize_many([1] * len(rows)),
                    }
                )
                log.append(IN.name, partition, table, producer="fill", batch=batch)
            app.drain()
    reader, count, spent = connection.reader(), 0, 0
    for partition, end in connection.admin().end_offsets(OUT.name).items():
        for record in reader.read(OUT.name, partition, 0, end):
            if record.timestamp == 1:
                count += INT64.deserialize(record.key or b"")
                spent += INT64.deserialize(record.value or b"")
    return count / spent * 1e9


def _theirs(session: SparkSession, home: Path, records: int) -> float:
    found: list[list[Row]] = []
    rows = (
        session.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", records)
        .option("numPartitions", _PARTITIONS)
        .load()
        .select((F.col("value") % _KEYS).cast("string").alias("key"))
        .groupBy("key")
        .transformWithState(TimedValueState(), "records long, spent long", "Update", "None")
    )
    for _ in range(2):
        query = (
            rows.writeStream.outputMode("update")
            .foreachBatch(lambda frame, _: found.append(frame.collect()))
            .option("checkpointLocation", str(home / "value-state"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    last = [batch for batch in found if batch][-1]
    return float(sum(row.records for row in last) / sum(row.spent for row in last) * 1e9)
