"""The workloads in Quix Streams. Imports nothing of the suite, which its environment lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from quixstreams import Application, State

SIZE = timedelta(seconds=10)
GAP = timedelta(seconds=30)
CATEGORY = 10


def main() -> None:
    others = [_another(n) for n in range(1, int(os.environ.get("BENCH_PROCESSES", "1")))]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        _run(Path(os.environ["BENCH_HOME"]) / os.environ.get("BENCH_NUMBER", "0"))
    finally:
        for other in others:
            other.kill()


def _another(number: int) -> subprocess.Popen[bytes]:
    own = {**os.environ, "BENCH_PROCESSES": "1", "BENCH_NUMBER": str(number)}
    return subprocess.Popen([sys.executable, __file__], env=own)  # noqa: S603  # this file


def _run(home: Path) -> None:
    given = os.environ
    app = Application(
        broker_address=given["BENCH_BOOTSTRAP"],
        consumer_group=f"{given['BENCH_OUTPUT']}-app",
        auto_offset_reset="earliest",
        state_dir=str(home),
    )
    workload = given["BENCH_WORKLOAD"]
    kind = "bytes" if workload in ("W1", "W2", "W4") else "json"
    sources = [
        app.topic(topic, key_deserializer="str", value_deserializer=kind)
        for topic in given["BENCH_INPUTS"].split(",")
    ]
    sink = app.topic(given["BENCH_OUTPUT"], key_serializer="str", value_serializer="json")
    frames = [app.dataframe(source) for source in sources]
    results = (
        _joined(frames[0], frames[1], workload)
        if len(frames) > 1
        else _results(frames[0], workload)
    )
    results.to_topic(sink)
    app.run()


def _results(clicks: Any, workload: str) -> Any:
    if workload == "W1":
        return clicks.tumbling_window(timedelta(seconds=10)).count().current()
    if workload == "W2":
        return clicks.apply(_count, stateful=True)
    if workload == "W4":
        # By partition: a session ends with the records of other users, too.
        return (
            clicks.session_window(GAP).count().final(closing_strategy="partition").apply(_session)
        )
    amounts = clicks.apply(lambda click: click["amount"])
    return amounts.hopping_window(timedelta(seconds=60), timedelta(seconds=10)).sum().current()


def _joined(left: Any, right: Any, workload: str) -> Any:
    if workload == "W5":
        region = left.join_asof(right, how="left", on_merge=_region).group_by(
            lambda region: region, name="region", value_serializer="json", value_deserializer="json"
        )
        # Processes and closers are not in step: with this grace period, no record is late.
        return region.tumbling_window(SIZE, grace_ms=timedelta(days=2)).count().current()
    if workload == "W6":
        return left.join_interval(
            right, how="inner", on_merge=_pair, grace_ms=timedelta(seconds=12), forward_ms=SIZE
        )
    return left.join_asof(right, on_merge=_bid).filter(lambda bid: bid["category"] == CATEGORY)


def _region(_: Any, user: Any) -> str:
    region: str = user["region"] if user else "?"
    return region


def _pair(shown: Any, click: Any) -> dict[str, Any]:
    return {"start": shown["at"], "end": click["at"], "value": [shown["cost"], click["price"]]}


def _bid(bid: Any, auction: Any) -> dict[str, Any]:
    value = [str(bid["price"]), auction["itemName"]]
    return {"start": bid["dateTime"], "value": value, "category": auction["category"]}


def _session(window: dict[str, int]) -> dict[str, int]:
    """Return a session whose end is its last record, as in Kafka Streams; Quix adds 1 ms."""
    return {**window, "end": window["end"] - 1}


def _count(_: bytes, state: State) -> dict[str, int]:
    total: int = state.get("total", 0) + 1
    state.set("total", total)
    return {"value": total}


if __name__ == "__main__":
    main()
