"""Measures state: access, commits, restores, and disk usage after a thousand batches.

    python -m benchmarks.state                      # all cases except those on Spark
    python -m benchmarks.state --smoke              # a little of each case, as a quick check
    python -m benchmarks.state access commit        # selected cases
    python -m benchmarks.state spark                # compared with Spark's own ValueState
    python -m benchmarks.state distance             # a checkpoint on S3 with high latency
    python -m benchmarks.state --json state.json    # also write the figures as JSON
    python -m benchmarks.state access --profile     # profile the run
    python -m benchmarks.state --home /dev/shm/x    # state and log on a memory file system

    access     put and get of a key-value store, hot and cold
    kinds      put, get and range of every kind of store
    commit     checkout, reads and commit of a task, by number of changed keys
    restore    an empty machine: 1 M keys of 100 bytes from S3 on loopback, and from a directory
    distance   requests and milliseconds per batch, by the round-trip time of a request
    endurance  disk, objects and times over a thousand batches, including clean-up

The figures include processor time of the whole process, in brackets or in the last column.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.state import one_task, typed_stores

Case = Callable[[Path, bool], dict[str, Any]]


def spark(home: Path, smoke: bool) -> dict[str, Any]:
    from benchmarks.state import on_spark  # noqa: PLC0415  # only here Spark is wanted

    return on_spark.side_by_side(home, smoke)


def distance(home: Path, smoke: bool) -> dict[str, Any]:
    from benchmarks.state import distant  # noqa: PLC0415  # as above

    return distant.by_distance(home, smoke)


CASES: dict[str, Case] = {
    "access": typed_stores.access,
    "kinds": typed_stores.kinds,
    "commit": one_task.commits,
    "restore": one_task.restores,
    "endurance": one_task.endurance,
    "spark": spark,
    "distance": distance,
}

_ON_SPARK = ("spark", "distance")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"cases to run, of: {' '.join(CASES)}"
    )
    parser.add_argument("--smoke", action="store_true", help="run each case briefly")
    parser.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    parser.add_argument(
        "--home", type=Path, help="folder of state and log; default: a temporary directory"
    )
    parser.add_argument("--profile", action="store_true", help="print a profile of the run")
    options = parser.parse_args()
    if unknown := sorted(set(options.cases) - set(CASES)):
        parser.error(f"no such case: {' '.join(unknown)}; there are: {' '.join(CASES)}")
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    figures: dict[str, Any] = {"machine": about}
    for name in options.cases or [case for case in CASES if case not in _ON_SPARK]:
        with tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home) as directory:
            profile = cProfile.Profile(time.process_time) if options.profile else None
            if profile is not None:
                profile.enable()
            figures[name] = CASES[name](Path(directory), options.smoke)
            if profile is not None:
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
