"""Measures joins in one process on RocksDB: records per processor second.

    python -m benchmarks.joins                       # all cases
    python -m benchmarks.joins --smoke               # a few records, as a quick check
    python -m benchmarks.joins stream-table          # selected cases
    python -m benchmarks.joins state                 # size of the state of W6o over 40 windows
    python -m benchmarks.joins --json joins.json     # also write the figures as JSON
    python -m benchmarks.joins --profile stream-table    # profile the run

A batch has 50,000 records and goes from decoded columns to durable commits through all stages of
the topology. Initial state is stored before the measurement. The best of several rounds counts.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.joins.cases import CASES, Case, Sizes
from benchmarks.joins.pipeline import Feeds, Pipeline
from benchmarks.joins.state import remembered
from benchmarks.machine import machine
from benchmarks.measured import Times

STATE = "state"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"cases to run, of: {' '.join(CASES)} {STATE}"
    )
    parser.add_argument("--smoke", action="store_true", help="run one round with a few records")
    parser.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    parser.add_argument(
        "--home", type=Path, help="folder of state and log; default: a temporary directory"
    )
    parser.add_argument("--rounds", type=int, default=Sizes.rounds)
    parser.add_argument("--profile", action="store_true", help="print a profile of the run")
    options = parser.parse_args()
    known = [*CASES, STATE]
    if unknown := sorted(set(options.cases) - set(known)):
        parser.error(f"no such case: {' '.join(unknown)}; there are: {' '.join(known)}")
    sizes = Sizes(rounds=options.rounds)
    if options.smoke:
        sizes = Sizes(keys=1_000, batch=500, batches=2, rounds=1)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    print(f"{'':24}{'per CPU s':>12}{'at least':>12}{'records/s':>12}{'results':>12}  case")
    figures: dict[str, Any] = {"machine": about}
    for name in options.cases or known:
        if name == STATE:
            continue
        profile = cProfile.Profile(time.process_time) if options.profile else None
        with tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home) as home:
            found = _measured(CASES[name], sizes, Path(home), profile)
        figures[name] = found
        print(
            f"{name:24}{found['per_cpu_s']:12,}{CASES[name].at_least:12,}{found['per_s']:12,}"
            f"{found['results']:12,}  {CASES[name].title}",
            flush=True,
        )
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    if STATE in (options.cases or known):
        with tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home) as home:
            figures[STATE] = _remembered(Path(home), 4 if options.smoke else 40)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1))


def _remembered(home: Path, windows: int) -> dict[str, Any]:
    """Print and return the size of the state of W6o, the outer interval join."""
    found = remembered(home, windows)
    stored, raw = found["stored"], found["raw"]
    print(f"\nW6o must retain {raw / 1e6:.1f} MB of raw rows, except rows emitted without a pair.")
    print("State of W6o in MB: minimum, mean and maximum")
    half = windows // 2
    for name, part in (("first half", stored[1:half]), ("second half", stored[half:])):
        told = (min(part), sum(part) / len(part), max(part))
        print(f"  {name:12}{''.join(f'{size / 1e6:8.1f}' for size in told)}", flush=True)
    return found


def _measured(
    case: Case, sizes: Sizes, home: Path, profile: cProfile.Profile | None
) -> dict[str, int]:
    """Return the figures of the best round."""
    times = Times()
    counted = results = 0
    for number in range(sizes.rounds):
        feeds, pipeline = Feeds(), Pipeline(case.make(), home / str(number))
        for batch in case.load(feeds, sizes):
            pipeline.run(batch)
        batches = list(case.batches(feeds, sizes))
        before, looped = pipeline.rows, pipeline.looped
        gc.collect()
        if profile is not None:
            profile.enable()
        with times:
            for batch in batches:
                pipeline.run(batch)
        if profile is not None:
            profile.disable()
        results = pipeline.rows - before
        counted = {
            "records": sum(queue.table.num_rows for batch in batches for queue in batch),
            "results": results,
            "hops": pipeline.looped - looped,
            "batches": len(batches),
        }[case.counts]
        shutil.rmtree(home / str(number))
    return {
        "per_cpu_s": round(counted / min(times.cpu)),
        "per_s": round(counted / min(times.wall)),
        "results": results,
    }


if __name__ == "__main__":
    main()
