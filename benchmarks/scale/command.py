"""The command `scale`: measures, and writes the report and, on request, a documentation page."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.scale.commits import commit_sizes
from benchmarks.scale.growth import measure_growth
from benchmarks.scale.many import BATCHES as MANY_BATCHES
from benchmarks.scale.many import PARTITIONS, measure_many
from benchmarks.scale.outcome import GROWTH, MANY, RUNS, ManyCost, Scale, StateCost
from benchmarks.scale.page import write_into
from benchmarks.scale.plots import plot
from benchmarks.scale.runs import pairs
from benchmarks.scale.tables import markdown, sections
from benchmarks.suite.cluster import Cluster
from benchmarks.suite.console import Console
from benchmarks.suite.measure import RunFailed
from benchmarks.suite.outcome import Outcome
from benchmarks.suite.plan import Plan
from benchmarks.suite.rounds import Rounds
from benchmarks.suite.watcher import Watcher
from devtools.servers.machine import why_no_machines

__all__ = ("add_to",)

PARTS = ("runs", "state", "many")
MINUTES = 45.0
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = SIZES[:2]
BATCHES = 30
QUICK_BATCHES = 8
_STATE_LIMIT_S = 1_800.0


def add_to(commands: Any, *, cache: Path, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        cache: The default folder of topics and results.
        count: Reads a number.
    """
    scale = commands.add_parser(
        "scale", help="measure scaling with cores, partitions, keys and state"
    )
    scale.add_argument(
        "--part", action="append", choices=PARTS, help="part to run; repeatable; default: all"
    )
    scale.add_argument("--records", type=count, metavar="N", help="records per run")
    scale.add_argument("--rounds", type=count, help="rounds; default: 3, with --quick 1")
    scale.add_argument(
        "--minutes", type=float, help=f"time limit, minutes; default: {MINUTES:g}, with --quick 15"
    )
    scale.add_argument(
        "--partitions",
        type=count,
        default=PARTITIONS,
        metavar="N",
        help="partitions of `many`; default: %(default)s",
    )
    scale.add_argument("--quick", action="store_true", help="run one round with less state")
    scale.add_argument(
        "--cache", type=Path, default=cache, help="folder of topics; default: %(default)s"
    )
    scale.add_argument(
        "--out", type=Path, help="folder of the report; default: <cache>/results/<time>"
    )
    scale.add_argument(
        "--again",
        type=Path,
        metavar="FOLDER",
        help="report on the figures in this folder, without measuring",
    )
    scale.add_argument("--into", type=Path, metavar="PAGE", help="page to write the sections to")
    scale.set_defaults(call=_scale)


def _scale(options: argparse.Namespace) -> int:
    started = datetime.now(timezone.utc)
    folder: Path = (
        options.again or options.out or options.cache / "results" / f"scale-{started:%Y%m%dT%H%M%S}"
    )
    failed = False
    if options.again is None:
        parts: list[str] = options.part or list(PARTS)
        with Console() as console, Cluster(options.cache) as cluster:
            if "runs" in parts:
                failed |= _runs(options, folder, started, cluster, console)
            if "state" in parts:
                failed |= _state(options, folder, cluster, console)
            if "many" in parts:
                failed |= _many(folder, options.partitions, cluster, console)
    _report(folder, options.into)
    return int(failed)


def _runs(
    options: argparse.Namespace,
    folder: Path,
    started: datetime,
    cluster: Cluster,
    watcher: Watcher,
) -> bool:
    """Run the rounds; return whether one has failed."""
    plan = Plan(pairs(), minutes=MINUTES, lag=False).asked(
        quick=options.quick,
        records=options.records,
        rounds=options.rounds,
        minutes=options.minutes,
    )
    outcome = Outcome.of(plan, started)

    def save() -> None:
        outcome.save(folder / RUNS)

    Rounds(plan, outcome, cluster, cache=options.cache, watcher=watcher, save=save).run()
    outcome.machine["load_after"] = machine()["load"]
    save()
    return any(" failed: " in cell.reason for cell in outcome.cells)


def _state(options: argparse.Namespace, folder: Path, cluster: Cluster, watcher: Watcher) -> bool:
    """Measure the cost of state; return whether the measurement has failed."""
    found = StateCost(machine())
    with tempfile.TemporaryDirectory(prefix="kstreams-bench-") as home:
        found.commits = commit_sizes(Path(home))
    sizes = list(QUICK_SIZES if options.quick else SIZES)
    batches = QUICK_BATCHES if options.quick else BATCHES
    step = watcher.step(f"state of up to {sizes[-1]:,} keys", sizes[-1])
    try:
        found.points = measure_growth(
            sizes,
            batches,
            cluster=cluster,
            cache=options.cache,
            limit_s=_STATE_LIMIT_S,
            done=step,
        )
    except RunFailed as exc:
        found.notes.append(f"state growth failed: {exc}")
        watcher.say(found.notes[-1])
    found.machine["load_after"] = machine()["load"]
    found.save(folder / GROWTH)
    return bool(found.notes)


def _many(folder: Path, partitions: int, cluster: Cluster, watcher: Watcher) -> bool:
    """Measure many partitions on a cluster; return whether the measurement has failed."""
    if why := why_no_machines():
        watcher.say(f"no run on many partitions: {why}")
        return False
    about = machine()
    try:
        step = watcher.step(f"{partitions:,} partitions", MANY_BATCHES)
        found = measure_many(cluster, partitions, done=step)
    except RuntimeError as exc:
        watcher.say(f"many partitions failed: {exc}")
        return True
    ManyCost({**about, "load_after": machine()["load"]}, found).save(folder / MANY)
    return False


def _report(folder: Path, page: Path | None) -> None:
    found = Scale.load(folder)
    text = markdown(found)
    (folder / "scale.md").write_text(f"# Scale\n\n{text}")
    print(text)
    if page is not None:
        write_into(page, sections(found))
    try:
        print(f"figures, report and {len(plot(found, folder))} plots are in {folder}")
    except ImportError as exc:
        print(f"figures and report are in {folder}; no plots: {exc}")
