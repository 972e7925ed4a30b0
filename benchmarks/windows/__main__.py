"""Measures windowed aggregation with state in RocksDB, in one process or on Spark.

    python -m benchmarks.windows                     # the standard cases, as a table
    python -m benchmarks.windows --smoke             # a few records, as a quick check
    python -m benchmarks.windows --matrix            # windows x aggregator x keys x disorder
                                                     #   x execution x engine; half an hour
    python -m benchmarks.windows --matrix --engine process   # without Spark
    python -m benchmarks.windows --out results       # windows.txt, .json and .png too
    python -m benchmarks.windows w1 --profile        # profile the run

In process, a batch has its own task, overlay and checkout, as on Spark. The time covers everything
from the encoded input to the encoded output and the durable delta on disk. Records are 5 ms apart
(`dense`: 0.1 ms), keys Zipf 1.3; disorder shifts times back by up to the given ms. `columns`
aggregates whole columns, `records` makes one call per record. The figures include CPU time of the
process, which other load on the machine disturbs less than elapsed time. On Spark (two tasks,
embedded topics) the first batch is not measured.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.machine import machine
from benchmarks.windows.cases import PAST, STANDARD, Case, matrix
from benchmarks.windows.figures import Figures
from benchmarks.windows.one_process import best_in_process
from benchmarks.windows.report import bars, growth, head, row

Runner = Callable[[Case], Figures]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    about = machine()
    lines = [
        f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}",
        head(),
    ]
    print("\n".join(lines))
    cases, past = _chosen(options)
    with ExitStack() as stack:
        home = tempfile.TemporaryDirectory(prefix="kstreams-bench-", dir=options.home)
        runner = _runner(options, Path(stack.enter_context(home)), stack)
        progress = stack.enter_context(
            Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
        )
        bar = progress.add_task("cases", total=len(cases) + len(past))
        found: list[Figures] = []
        trends: list[Figures] = []
        for place, case in enumerate([*cases, *past]):
            progress.update(bar, description=case.name, completed=place)
            figures = runner(case)
            (found if place < len(cases) else trends).append(figures)
            lines.append(row(figures))
            print(lines[-1], flush=True)
    lines += ["", bars(found), "", *map(growth, trends)]
    print("\n".join(lines[-len(trends) - 3 :]))
    if options.out is not None:
        _write(options.out, lines, found, trends, about)


def _chosen(options: argparse.Namespace) -> tuple[list[Case], list[Case]]:
    """Return the cases, and the cases whose batches are compared with each other."""
    known = {case.name: case for case in (*STANDARD, *matrix())}
    unknown = [name for name in options.cases if name not in known]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)}")
    cases = [known[name] for name in options.cases] or list(STANDARD)
    past = [] if options.cases else list(PAST)
    if options.matrix:
        cases = list(matrix())
    if options.engine is not None:
        cases = [case for case in cases if case.engine == options.engine]
    if options.smoke:
        cases = [_small(case, 500) for case in cases]
        past = [_small(case, 200) for case in past]
    return cases, past


def _small(case: Case, batch: int) -> Case:
    """Return the case with few records that span as many windows."""
    return replace(case, records=2_000, batch=batch, gap_us=50 * case.gap_us)


def _runner(options: argparse.Namespace, home: Path, stack: ExitStack) -> Runner:
    """Return a function that runs a case; Spark starts with the first case that needs it."""
    rounds = 1 if options.smoke or options.matrix else options.rounds
    sessions: list[Runner] = []

    def spark() -> Runner:
        from benchmarks.windows.on_spark import on_spark  # noqa: PLC0415  # Spark, if it is asked for
        from kstreams.spark.session import app_session  # noqa: PLC0415  # as above

        session = app_session("benchmark", config={"spark.master": "local[2]"})
        stack.callback(session.stop)
        return lambda case: on_spark(case, home, session)

    def run(case: Case) -> Figures:
        if case.engine == "spark":
            if not sessions:
                sessions.append(spark())
            return sessions[0](case)
        profile = cProfile.Profile(time.process_time) if options.profile else None
        found = best_in_process(case, home, rounds, profile)
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return found

    return run


def _write(
    folder: Path,
    lines: Sequence[str],
    found: Sequence[Figures],
    trends: Sequence[Figures],
    about: dict[str, object],
) -> None:
    """Write the table, all figures, and a plot of the figures."""
    from benchmarks.windows.plot import plot  # noqa: PLC0415  # matplotlib, if it is asked for

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "windows.txt").write_text("\n".join([*lines, ""]))
    data = {
        "machine": about,
        "figures": [figures.to_json() for figures in found],
        "past": [figures.to_json() for figures in trends],
    }
    (folder / "windows.json").write_text(json.dumps(data, indent=1))
    plot(found, trends, folder / "windows.png")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    path = partial(parser.add_argument, type=Path)
    parser.add_argument("cases", nargs="*", help="cases to run; default: the standard cases")
    parser.add_argument("--matrix", action="store_true", help="run all combinations")
    parser.add_argument(
        "--engine", choices=("process", "spark"), help="engine to measure; default: both"
    )
    parser.add_argument("--smoke", action="store_true", help="run one round with a few records")
    path("--out", help="folder of the results windows.txt, windows.json and windows.png")
    path("--home", help="folder of state and log; default: a temporary directory")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print a profile of the run")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds is 1 or more")
    return options


if __name__ == "__main__":
    main()
