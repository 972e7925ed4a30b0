"""The benchmarks against other systems: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.connectors import command as connectors
from benchmarks.explain import command as explain
from benchmarks.frames import command as frames
from benchmarks.machine import machine
from benchmarks.scale import command as scale
from benchmarks.serdes import command as serdes
from benchmarks.serve import command as serve
from benchmarks.start import command as start
from benchmarks.suite import lag_command as lag
from benchmarks.suite.cluster import CacheInUse, Cluster
from benchmarks.suite.compare import compared
from benchmarks.suite.console import Console
from benchmarks.suite.goals import goal_plan
from benchmarks.suite.outcome import Outcome
from benchmarks.suite.plan import Plan
from benchmarks.suite.plots import plot
from benchmarks.suite.registry import UnknownName, all_peers, all_workloads, peer_by, workload_by
from benchmarks.suite.report import markdown
from benchmarks.suite.rounds import Rounds


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser().parse_args(given, argparse.Namespace(given=given))
    try:
        status: int = options.call(options)
    except (CacheInUse, UnknownName, ValueError) as exc:
        print(f"benchmarks: {exc}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benchmarks: interrupted; measured figures are kept", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser(
        "run", help="run the workloads on the peers, check the results, write a report"
    )
    run.add_argument(
        "--workload",
        action="append",
        metavar="W",
        help="workload: a name or a .py file; repeatable; default: all",
    )
    run.add_argument(
        "--peer", action="append", metavar="P", help="peer by name; repeatable; default: all"
    )
    run.add_argument(
        "--goals", action="store_true", help="only the runs of the speed goals, for 60 minutes"
    )
    run.add_argument("--records", type=_count, metavar="N", help="number of records per workload")
    run.add_argument(
        "--keys", type=_count, action="append", help="number of keys of the clicks; repeatable"
    )
    run.add_argument(
        "--skew",
        type=_exponent,
        action="append",
        metavar="E",
        help="skew of the clicks' keys, a Zipf exponent; 0: uniform; default: 1.3; repeatable",
    )
    run.add_argument("--rounds", type=_count, help="rounds per run; default: 3, with --quick 1")
    run.add_argument(
        "--minutes",
        type=float,
        help="time limit of all runs, minutes; default: 90, with --quick 15",
    )
    run.add_argument(
        "--quick", action="store_true", help="run one round with fewer records, without lag"
    )
    run.add_argument("--no-lag", action="store_true", help="do not measure lag")
    run.add_argument(
        "--cache",
        type=Path,
        default=_cache(),
        help="folder of peers and topics; default: %(default)s",
    )
    run.add_argument(
        "--out", type=Path, help="folder of the report; default: <cache>/results/<time>"
    )
    run.set_defaults(call=_run)
    listing = commands.add_parser("list", help="list the workloads and peers")
    listing.set_defaults(call=_list)
    again = commands.add_parser("report", help="recreate the report and the plots of a run")
    again.add_argument("file", type=Path, help="file figures.json of the run")
    again.add_argument(
        "--into", type=Path, metavar="PAGE", help="page for the text; plots are written to results/"
    )
    again.set_defaults(call=_report)
    scale.add_to(commands, cache=_cache(), count=_count)
    serdes.add_to(commands, cache=_cache())
    start.add_to(commands, cache=_cache(), count=_count)
    lag.add_to(commands, cache=_cache(), count=_count)
    connectors.add_to(commands)
    frames.add_to(commands, count=_count)
    serve.add_to(commands, count=_count)
    explain.add_to(commands, count=_count)
    comparison = commands.add_parser("compare", help="compare the figures of two runs")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    comparison.set_defaults(call=_compare)
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    if options.goals:
        if options.keys or options.skew:
            raise ValueError("--goals says on which keys: leave --keys and --skew out")
        return goal_plan(options.workload or (), options.peer or ())
    names: list[str] = options.workload or [each.name for each in all_workloads()]
    found = [workload_by(name) for name in names]
    workloads = [each.of_keys(keys) for each in found for keys in options.keys or ()] or found
    workloads = [
        each.of_skew(skew) for each in workloads for skew in options.skew or ()
    ] or workloads
    peers = [peer_by(name) for name in options.peer] if options.peer else all_peers()
    return Plan(
        pairs=[(workload, peer) for workload in workloads for peer in peers],
        files={
            workload.name: str(Path(name).absolute())
            for workload, name in zip(found, names, strict=True)
            if name.endswith(".py")
        },
    )


def _run(options: argparse.Namespace) -> int:
    plan = _plan(options).asked(
        quick=options.quick,
        records=options.records,
        rounds=options.rounds,
        minutes=options.minutes,
        lag=not options.no_lag,
    )
    started = datetime.now(timezone.utc)
    folder: Path = options.out or options.cache / "results" / f"{started:%Y%m%dT%H%M%S}"
    outcome = Outcome.of(plan, started, f"python -m benchmarks {shlex.join(options.given)}")
    interrupted = False
    try:
        with Console() as console, Cluster(options.cache) as cluster:
            Rounds(
                plan,
                outcome,
                cluster,
                cache=options.cache,
                watcher=console,
                save=lambda: outcome.save(folder / "figures.json"),
            ).run()
    except KeyboardInterrupt:
        interrupted = True
        outcome.notes.append("interrupted: what was measured until then")
    outcome.machine["load_after"] = machine()["load"]
    outcome.save(folder / "figures.json")
    print(f"figures are in {folder}")
    _written(outcome, folder / "report.md", folder)
    if interrupted:
        return 130
    return 1 if any(" failed: " in cell.reason for cell in outcome.cells) else 0


def _report(options: argparse.Namespace) -> int:
    outcome, page = Outcome.load(options.file), options.into
    if page:
        _written(outcome, page, page.parent / "results", batches=False)
    else:
        _written(outcome, options.file.parent / "report.md", options.file.parent)
    return 0


def _written(outcome: Outcome, page: Path, plots: Path, *, batches: bool = True) -> None:
    """Write a report, and its plots into a folder next to or below the report."""
    try:
        made = plot(outcome, plots, batches=batches)
    except ImportError as exc:
        made = []
        print(f"no plots: {exc}")
    text = markdown(outcome, plots=plots.relative_to(page.parent).as_posix() if made else None)
    page.write_text(text)
    print(text)
    print(f"report {page}, {len(made)} plots in {plots}")


def _list(options: argparse.Namespace) -> int:
    print("workloads")
    for workload in all_workloads():
        print(f"  {workload.name:4} {workload.title}")
    print("peers")
    for peer in all_peers():
        able = [each.name for each in all_workloads() if peer.refusal(each) is None]
        print(f"  {peer.name:24} {' '.join(able):42} {peer.title}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    print(compared(Outcome.load(options.before), Outcome.load(options.after)))
    return 0


def _count(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise ValueError(text)
    return number


def _exponent(text: str) -> float:
    exponent = float(text)
    if not 0 <= exponent < math.inf:
        raise ValueError(text)
    return exponent


def _cache() -> Path:
    named = os.environ.get("KSTREAMS_BENCH_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "kstreams-bench"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops broker and peers, too
    raise SystemExit(main())
