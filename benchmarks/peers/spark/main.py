"""Runs a workload as a Spark query, in the form that the arguments name, until SIGTERM."""

from __future__ import annotations

import os

from benchmarks.peers.spark.session import inputs_of, records_of, run, session
from benchmarks.suite.registry import workload_by


def main() -> None:
    given = os.environ
    workload = workload_by(given["BENCH_FILE"] or given["BENCH_WORKLOAD"])
    form = given["BENCH_FORM"]
    spark = session()
    if form == "operators":
        if workload.spark is None:
            raise SystemExit(f"{workload.name} has no Spark query")
        loaded = [1 + place for place in workload.loaded]
        run(*workload.spark(*inputs_of(spark, loaded)), done=records_of(loaded))
        return
    from benchmarks.peers.spark.stateful import by_apply, by_processor

    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    if form == "processor":
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    made = by_processor if form == "processor" else by_apply
    run(*made(inputs_of(spark)[0], workload.name))


if __name__ == "__main__":
    main()
