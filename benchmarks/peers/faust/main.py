"""The workloads in Faust; imports nothing of the suite, its environment has none of it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import faust

GIVEN = os.environ
WORKLOAD = GIVEN["BENCH_WORKLOAD"]
SIZE_S = 10.0

app: Any = faust.App(
    f"{GIVEN['BENCH_OUTPUT']}-app",
    broker=f"kafka://{GIVEN['BENCH_BOOTSTRAP']}",
    store="rocksdb://",
    datadir=GIVEN["BENCH_HOME"],
    topic_partitions=4,
    topic_replication_factor=1,
    topic_disable_leader=True,
)
clicks = app.topic(GIVEN["BENCH_INPUT"], key_type=str, key_serializer="raw", value_serializer="raw")
results = app.topic(
    GIVEN["BENCH_OUTPUT"], key_type=str, key_serializer="raw", value_serializer="json"
)
table: Any = app.Table("totals", default=int, partitions=4)
if WORKLOAD == "W1":
    table = table.tumbling(SIZE_S, expires=timedelta(hours=1))


@app.agent(clicks)  # type: ignore[untyped-decorator]  # Faust is not in the library's environment
async def work(stream: Any) -> None:
    async for event in stream.events():
        key = event.key if isinstance(event.key, str) else event.key.decode()
        when = event.message.timestamp
        if WORKLOAD == "W2":
            table[key] += 1
            await results.send(key=key, value={"value": table[key]})
        else:
            table[key] += 1
            start = when // SIZE_S * SIZE_S
            value = {"start": round(start * 1000), "value": table[key].current(event)}
            await results.send(key=key, value=value)


if __name__ == "__main__":
    app.main()
