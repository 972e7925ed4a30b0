"""The workloads in Faust; imports nothing of the suite, its environment has none of it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import faust

GIVEN = os.environ
WORKLOAD = GIVEN["BENCH_WORKLOAD"]
SIZE_S = 60.0 if WORKLOAD == "W3" else 10.0

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
if WORKLOAD == "W3":
    clicks = app.topic(
        GIVEN["BENCH_INPUT"], key_type=str, key_serializer="raw", value_serializer="json"
    )
results = app.topic(
    GIVEN["BENCH_OUTPUT"], key_type=str, key_serializer="raw", value_serializer="json"
)
table: Any = app.Table("totals", default=int, partitions=4)
if WORKLOAD == "W1":
    table = table.tumbling(SIZE_S, expires=timedelta(hours=1))
elif WORKLOAD == "W3":
    table = table.hopping(SIZE_S, 10.0, expires=timedelta(hours=1))


@app.agent(clicks)  # type: ignore[untyped-decorator]  # Faust is not in the library's environment
async def work(stream: Any) -> None:
    async for event in stream.events():
        key = event.key if isinstance(event.key, str) else event.key.decode()
        when = event.message.timestamp
        if WORKLOAD == "W2":
            table[key] += 1
            await results.send(key=key, value={"value": table[key]})
        elif WORKLOAD == "W1":
            table[key] += 1
            start = when // SIZE_S * SIZE_S
            value = {"start": round(start * 1000), "value": table[key].current(event)}
            await results.send(key=key, value=value)
        else:
            await _hop(key, when, event)


async def _hop(key: str, when: float, event: Any) -> None:
    """Send all windows that the click has changed, as the other systems do."""
    table[key] += event.value["amount"]
    last = when // 10.0 * 10.0
    for back in range(6):
        start = last - 10.0 * back
        found = table[key].delta(when - start - 9.999) if back else table[key].current(event)
        await results.send(key=key, value={"start": round(start * 1000), "value": found})


if __name__ == "__main__":
    app.main()
