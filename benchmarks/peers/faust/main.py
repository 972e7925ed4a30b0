"""The workloads in Faust. Imports nothing of the suite, which its environment lacks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import faust

GIVEN = os.environ
WORKLOAD = GIVEN["BENCH_WORKLOAD"]
EXPIRES = timedelta(hours=1)

app: Any = faust.App(
    f"{GIVEN['BENCH_OUTPUT']}-app",
    broker=f"kafka://{GIVEN['BENCH_BOOTSTRAP']}",
    store="rocksdb://",
    datadir=GIVEN["BENCH_HOME"],
    topic_partitions=4,
    topic_replication_factor=1,
    topic_disable_leader=True,
)
clicks = app.topic(
    GIVEN["BENCH_INPUT"],
    key_type=str,
    key_serializer="raw",
    value_serializer="json" if WORKLOAD == "W3" else "raw",
)
results = app.topic(
    GIVEN["BENCH_OUTPUT"], key_type=str, key_serializer="raw", value_serializer="json"
)
table: Any = app.Table("totals", default=int, partitions=4)
if WORKLOAD == "W1":
    table = table.tumbling(timedelta(seconds=10), expires=EXPIRES)
elif WORKLOAD == "W3":
    table = table.hopping(timedelta(seconds=60), timedelta(seconds=10), expires=EXPIRES)


@app.agent(clicks)  # type: ignore[untyped-decorator]  # Faust is not in the library's environment
async def work(stream: Any) -> None:
    async for event in stream.events():
        key = event.key if isinstance(event.key, str) else event.key.decode()
        table[key] += event.value["amount"] if WORKLOAD == "W3" else 1
        for value in _results(key, event):
            await results.send(key=key, value=value)


def _results(key: str, event: Any) -> Iterator[dict[str, int]]:
    """Yield the values that the event has changed: the total, or the value of each window."""
    if WORKLOAD == "W2":
        yield {"value": table[key]}
        return
    windows = table.table.window.ranges(event.message.timestamp)
    for window in windows:
        yield {"start": round(window[0] * 1000), "value": table[key][window]}


if __name__ == "__main__":
    app.main()
