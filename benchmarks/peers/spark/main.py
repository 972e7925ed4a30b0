"""Runs a workload in one of Spark's forms until SIGTERM."""

from __future__ import annotations

import os

from benchmarks.peers.spark.session import rows, run, session
from benchmarks.suite.registry import workload_by


def main() -> None:
    given = os.environ
    workload = workload_by(given["BENCH_FILE"] or given["BENCH_WORKLOAD"])
    form = given["BENCH_FORM"]
    spark = session()
    if form == "operators":
        if workload.spark is None:
            raise SystemExit(f"{workload.name} has no Spark query")
        run(*workload.spark(rows(spark)))
        return
    from benchmarks.peers.spark.stateful import by_apply, by_processor

    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    if form == "processor":
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    made = by_processor if form == "processor" else by_apply
    run(*made(rows(spark), workload.name))


if __name__ == "__main__":
    main()
