"""The benchmarks against other systems: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
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
        print("benchmarks: interrupted; what was measured is kept", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="set up, run, check, report")
    run.add_argument("--workload", action="append", metavar="W", help="a name, or a .py file")
    run.add_argument("--peer", action="append", metavar="P", help="a name; may be repeated")
    run.add_argument("--goals", action="store_true", help="the runs of the speed goals, 60 minutes")
    run.add_argument("--records", type=_count, metavar="N", help="records of every workload")
    run.add_argument("--keys", type=_count, action="append", help="of clicks; may be repeated")
    run.add_argument("--rounds", type=_count, help="3; --quick: 1")
    run.add_argument("--minutes", type=float, help="for all runs; 90, --quick: 15")
    run.add_argument("--quick", action="store_true", help="one round of fewer records, no lag")
    run.add_argument("--no-lag", action="store_true", help="do not measure lag")
    run.add_argument("--cache", type=Path, default=_cache(), help="peers, topics; %(default)s")
    run.add_argument("--out", type=Path, help="folder of the report; <cache>/results/<time>")
    run.set_defaults(call=_run)
    listing = commands.add_parser("list", help="workloads and peers")
    listing.set_defaults(call=_list)
    again = commands.add_parser("report", help="write the report and the plots of a run again")
    again.add_argument("file", type=Path, help="figures.json of a run")
    again.add_argument("--into", type=Path, metavar="PAGE", help="the text; plots go to results/")
    again.set_defaults(call=_report)
    scale.add_to(commands, cache=_cache(), count=_count)
    serdes.add_to(commands, cache=_cache())
    start.add_to(commands, cache=_cache(), count=_count)
    lag.add_to(commands, cache=_cache(), count=_count)
    connectors.add_to(commands)
    frames.add_to(commands, count=_count)
    serve.add_to(commands, count=_count)
    explain.add_to(commands, count=_count)
    comparison = commands.add_parser("compare", help="compare two runs")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    comparison.set_defaults(call=_compare)
    return parser


def _plan(options: argparse.Namespace) -> Plan:
    if options.goals:
        if options.keys:
            raise ValueError("--goals says on how many keys: leave --keys out")
        return goal_plan(options.workload or (), options.peer or ())
    names: list[str] = options.workload or [each.name for each in all_workloads()]
    found = [workload_by(name) for name in names]
    workloads = [each.of_keys(keys) for each in found for keys in options.keys or ()] or found
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


def _cache() -> Path:
    named = os.environ.get("KSTREAMS_BENCH_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "kstreams-bench"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops broker and peers, too
    raise SystemExit(main())
