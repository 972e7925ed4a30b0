"""The workloads in Quix Streams; imports nothing of the suite, its environment has none of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from quixstreams import Application, State


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
    kind = "json" if given["BENCH_WORKLOAD"] == "W3" else "bytes"
    source = app.topic(given["BENCH_INPUT"], key_deserializer="str", value_deserializer=kind)
    sink = app.topic(given["BENCH_OUTPUT"], key_serializer="str", value_serializer="json")
    clicks = app.dataframe(source)
    _results(clicks, given["BENCH_WORKLOAD"]).to_topic(sink)
    app.run()


def _results(clicks: Any, workload: str) -> Any:
    if workload == "W1":
        return clicks.tumbling_window(timedelta(seconds=10)).count().current()
    if workload == "W2":
        return clicks.apply(_count, stateful=True)
    amounts = clicks.apply(lambda click: click["amount"])
    return amounts.hopping_window(timedelta(seconds=60), timedelta(seconds=10)).sum().current()


def _count(_: bytes, state: State) -> dict[str, int]:
    total: int = state.get("total", 0) + 1
    state.set("total", total)
    return {"value": total}


if __name__ == "__main__":
    main()
