"""Runs a workload's own Spark query until SIGTERM."""

from __future__ import annotations

import os

from benchmarks.peers.spark.session import rows, run, session
from benchmarks.suite.registry import workload_by


def main() -> None:
    given = os.environ
    workload = workload_by(given["BENCH_FILE"] or given["BENCH_WORKLOAD"])
    if workload.spark is None:
        raise SystemExit(f"{workload.name} has no Spark query")
    run(*workload.spark(rows(session())))


if __name__ == "__main__":
    main()
