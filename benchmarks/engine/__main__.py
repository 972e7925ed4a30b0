"""Measures the engine: records per second of one task and of a stage on Spark, and commit times.

    python -m benchmarks.engine                      # all cases except the backlog
    python -m benchmarks.engine --smoke              # a few records, as a quick check
    python -m benchmarks.engine count-rocksdb-zipf spark    # selected cases
    python -m benchmarks.engine apps executors       # lag of three apps; empty batches by executor
    python -m benchmarks.engine backlog              # 20 M records, peak memory of workers
    python -m benchmarks.engine telemetry            # overhead of telemetry, in pairs of batches
    python -m benchmarks.engine streams              # kstreams.streams against the builder
    python -m benchmarks.engine --json engine.json   # also write the figures as JSON
    python -m benchmarks.engine --profile count-rocksdb-uniform   # profile the run

Keys are text, values int64.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.engine import executors, fluent, on_spark, one_task, several_apps, telemetry
from benchmarks.machine import machine

BACKLOG = 20_000_000


def main() -> None:
    known = [*one_task.CASES, "spark", "executors", "apps", "backlog", "telemetry", "streams"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"cases to run, of: {' '.join(known)}"
    )
    parser.add_argument("--smoke", action="store_true", help="run one round with a few records")
    parser.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    parser.add_argument(
        "--home", type=Path, help="folder of state and log; default: a temporary directory"
    )
    parser.add_argument("--rounds", type=int, default=one_task.Sizes.rounds)
    parser.add_argument(
        "--records",
        type=int,
        default=2_000_000,
        help="records of a stage on Spark; default: %(default)s",
    )
    parser.add_argument("--profile", action="store_true", help="print a profile of the run")
    options = parser.parse_args()
    if unknown := sorted(set(options.cases) - set(known)):
        parser.error(f"no such case: {' '.join(unknown)}; there are: {' '.join(known)}")
    smoke: bool = options.smoke
    chosen = options.cases or known[:-3]
    sizes = one_task.Sizes(rounds=options.rounds)
    if smoke:
        sizes = one_task.Sizes(batch=1_000, batches=2, rounds=1)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    figures: dict[str, Any] = {"machine": about}
    with tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home) as directory:
        home = Path(directory)
        if in_process := [case for case in chosen if case in one_task.CASES]:
            figures["task"] = one_task.run(in_process, sizes, home, profile=options.profile)
        if "spark" in chosen:
            figures["spark"] = on_spark.stages(home, 20_000 if smoke else options.records)
        if "executors" in chosen:
            figures["executors"] = executors.empty_batches(home, 8 if smoke else 25)
        if "apps" in chosen:
            figures["apps"] = several_apps.lags(home, 5 if smoke else 30)
        if "telemetry" in chosen:
            batch, count = (1_000, 4) if smoke else (25_000, 30)
            figures["telemetry"] = telemetry.pairs(home, batch, count)
        if "streams" in chosen:
            batch, count = (1_000, 4) if smoke else (25_000, 30)
            figures["streams"] = fluent.pairs(batch, count)
        if "backlog" in chosen:
            figures["backlog"] = on_spark.backlog(home, 100_000 if smoke else BACKLOG)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
