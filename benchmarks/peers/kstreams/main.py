"""Runs a workload's topology until SIGTERM; prints the progress after each commit."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.suite.registry import workload_by
from devtools.spark_home import spark_home
from kstreams import App, Kafka
from kstreams.app import BatchReport
from kstreams_rocksdb import RocksDB


def main() -> None:
    given = os.environ
    workload = workload_by(given["BENCH_FILE"] or given["BENCH_WORKLOAD"])
    if workload.topology is None:
        raise SystemExit(f"{workload.name} has no topology")
    execution: Any = given["BENCH_EXECUTION"]
    delivery: Any = given["BENCH_DELIVERY"]
    home = Path(given["BENCH_HOME"])
    engine: dict[str, Any] = {"engine": "embedded"}
    if given["BENCH_ENGINE"] == "spark":
        settings = {"spark.driver.memory": "1g", "spark.master": given["BENCH_MASTER"]}
        engine = {"config": settings, "stage": given["BENCH_STAGE"]}
    if given["BENCH_MASTER"].startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(spark_home(home))
    done = 0

    def on_batch(report: BatchReport) -> None:
        nonlocal done
        if report.source_records:
            done += report.source_records
            print(f"progress {done}", flush=True)

    app = App(
        workload.topology(*given["BENCH_INPUTS"].split(","), given["BENCH_OUTPUT"], execution),
        Kafka(given["BENCH_BOOTSTRAP"], delivery=delivery),
        state=RocksDB(),
        checkpoint=home / "checkpoint",
        trigger=timedelta(0),
        max_records_per_batch=int(given["BENCH_BATCH"]),
        on_batch=on_batch,
        **engine,
    )
    with app:
        app.run()


if __name__ == "__main__":
    main()
