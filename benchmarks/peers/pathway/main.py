"""The workloads in Pathway. Imports nothing of the suite, which its environment lacks."""

from __future__ import annotations

import os
from typing import Any

import pathway as pw

GIVEN = os.environ
COMMIT_MS = 100
SETTINGS = {
    "bootstrap.servers": GIVEN["BENCH_BOOTSTRAP"],
    "group.id": f"{GIVEN['BENCH_OUTPUT']}-app",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": "6000",
    # Reads far ahead, as in Pathway's own benchmark of a word count.
    "queued.min.messages": "1000000",
}


class Click(pw.Schema):  # type: ignore[misc]  # its environment has no types here
    """The fields that W1 needs."""

    user: str
    at: int


class Amount(pw.Schema):  # type: ignore[misc]
    """The fields that W3 needs."""

    user: str
    at: int
    amount: int


def main() -> None:
    stream = _results(GIVEN["BENCH_WORKLOAD"]).to_stream()
    # A changed count removes a row and adds one. The output has the rows that were added.
    results = stream.filter(stream.is_upsert).without(pw.this.is_upsert)
    pw.io.kafka.write(results, SETTINGS, GIVEN["BENCH_OUTPUT"], format="json", key=results.user)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, persistence_config=_persistence())


def _results(workload: str) -> Any:
    if workload == "W2":
        keys = _read(format="plaintext", autogenerate_key=True).select(user=pw.this.key)
        return keys.groupby(keys.user).reduce(keys.user, value=pw.reducers.count())
    if workload == "W1":
        clicks, window = _read(format="json", schema=Click), pw.temporal.tumbling(duration=10_000)
        value = pw.reducers.count()
    else:
        clicks = _read(format="json", schema=Amount)
        window = pw.temporal.sliding(hop=10_000, duration=60_000)
        value = pw.reducers.sum(pw.this.amount)
    clicks = clicks.filter(clicks.user != "")  # records that only advance time
    return clicks.windowby(clicks.at, window=window, instance=clicks.user).reduce(
        user=pw.this._pw_instance, start=pw.this._pw_window_start, value=value
    )


def _read(**options: Any) -> Any:
    return pw.io.kafka.read(
        SETTINGS, topic=GIVEN["BENCH_INPUT"], autocommit_duration_ms=COMMIT_MS, **options
    )


def _persistence() -> Any:
    if GIVEN["BENCH_PERSISTENCE"] == "none":
        return None
    # The other mode, which keeps the state of operators instead of the input, needs a license key.
    folder = pw.persistence.Backend.filesystem(f"{GIVEN['BENCH_HOME']}/state")
    return pw.persistence.Config(folder, snapshot_interval_ms=1000)


if __name__ == "__main__":
    main()
