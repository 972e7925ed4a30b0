"""Run the tests on each version of Python and PySpark, and write the table of the results.

    python -m devtools.matrix run                               every cell, one at a time
    python -m devtools.matrix run --python 3.12 --only fast     chosen cells
    python -m devtools.matrix run --pyspark 4.3 --only engine \\
        --tests tests/kstreams/spark/test_app.py                chosen tests of a suite
    JAVA_HOME=/path/to/jdk-25 python -m devtools.matrix run --pyspark 4.3
    python -m devtools.matrix page                              docs/installing.md from the results

Each cell installs the locked packages into an environment of its own in build/matrix, with another
PySpark if the cell has another one. The last series of PySpark has the newest supported PyArrow and
protobuf. The cell then runs a suite:

    fast     the tests of `make test-fast`, without Java
    engine   the tests of `make test-engine`, on Spark and Kafka
    types    both type checkers on tests/typing, for the Python of the cell (needs no such Python)

A cell whose Python or PySpark is missing is "not available", with the reason. The results replace
those of the same cells in devtools/matrix/results.json. The outputs are in build/matrix/*.log.

The exit code is 0 if each available cell passed, 1 if a cell failed or took too long, or if no cell
was available, and 2 for wrong options.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timezone

from devtools.matrix.cells import PYSPARKS, PYTHONS, SUITES, Cell, cells
from devtools.matrix.environment import Environment, UnavailableError, own, prepare
from devtools.matrix.page import PAGE, with_table
from devtools.matrix.programs import Ended, say
from devtools.matrix.results import Outcome, Result, load, merged, save
from devtools.matrix.suites import counted, run_suite
from devtools.workspace import ROOT, core
from kstreams.clock import SystemClock

__all__ = ("main",)


def main(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit code."""
    options = _parser().parse_args(arguments)
    if options.command == "page":
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), load()), "utf-8")
        say(f"{PAGE.relative_to(ROOT)} is written")
        return 0
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m devtools.matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run cells, and write their results and the table")
    add = run.add_argument
    add("--python", action="append", choices=PYTHONS, help="a Python instead of each")
    add("--pyspark", action="append", choices=PYSPARKS, help="a series of PySpark instead of each")
    add("--only", action="append", choices=SUITES, help="a suite instead of each")
    add("--tests", nargs="+", default=[], metavar="PATH", help="tests of the chosen suites")
    add("--jobs", type=int, default=2, metavar="N", help="test processes (default: 2)")
    add("--timeout", type=float, default=60, metavar="MINUTES", help="of a cell (default: 60)")
    add("--dry-run", action="store_true", help="print the chosen cells only")
    commands.add_parser("page", help="write the table of the committed results")
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = cells(options.python or (), options.pyspark or (), options.only or ())
    results = []
    for number, cell in enumerate(chosen, 1):
        say(f"{number}/{len(chosen)} {cell}")
        if not options.dry_run:
            found = _result(cell, options)
            results.append(found)
            say(f"  {_summary(found)}")
            save(merged(load(), [found]))
    if not options.dry_run:
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), load()), "utf-8")
        red = [result for result in results if result.red]
        available = [result for result in results if result.outcome != "not available"]
        say(f"{len(available)} of {len(chosen)} cells available, {len(red)} of them failed")
        return int(bool(red) or not available)
    return 0


def _result(cell: Cell, options: argparse.Namespace) -> Result:
    """Install and run a cell."""
    now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, timezone.utc)
    today = now.date().isoformat()
    try:
        environment = own() if cell.suite == "types" else prepare(cell.python, cell.pyspark)
    except UnavailableError as exc:
        return Result(**cell._asdict(), outcome="not available", date=today, reason=str(exc))
    names = ("Python", "pyspark", "pyarrow", "protobuf", "Java")
    versions = zip(names, environment[1:], strict=True)
    say(f"  {', '.join(map(' '.join, versions))}")
    ended = run_suite(cell, environment, options.tests, options.jobs, options.timeout * 60)
    return _result_of(cell, environment, ended, options.tests, today)


def _result_of(
    cell: Cell, environment: Environment, ended: Ended, selection: Sequence[str], today: str
) -> Result:
    """Return the result of a cell whose tests have ended.

    Args:
        cell: The cell.
        environment: The environment of the tests.
        ended: The end of the tests.
        selection: The paths of the tests; empty for the complete suite.
        today: The day of the run.
    """
    counts = counted(ended.output)
    outcome: Outcome = "passed" if ended.code == 0 else "failed"
    if ended.code is None:
        outcome = "timed out"
    last = ended.output.strip().splitlines()[-1:]
    failure = counts.first_failure or (last[0] if last and outcome == "failed" else "")
    return Result(
        **cell._asdict(),
        outcome=outcome,
        date=today,
        python_version=environment.python_version,
        pyspark_version=environment.pyspark_version,
        pyarrow_version=environment.pyarrow_version,
        protobuf_version=environment.protobuf_version,
        java_version=environment.java_version,
        kstreams_version=core().project["version"],
        selection=() if cell.suite == "types" else tuple(selection),
        passed=counts.passed,
        failed=counts.failed,
        skipped=counts.skipped,
        seconds=round(ended.seconds, 1),
        first_failure=failure.replace(str(ROOT), "")[:300],
    )


def _summary(result: Result) -> str:
    if result.outcome == "not available":
        return f"not available: {result.reason}"
    text = f"{result.outcome}: {result.passed} passed, {result.failed} failed"
    text += f", {result.skipped} skipped in {result.seconds:.0f} s"
    return f"{text}; first: {result.first_failure}" if result.first_failure else text


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the tests end, too
    sys.exit(main(sys.argv[1:]))
