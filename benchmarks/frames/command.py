"""The command `frames`: a windowed count with one final result, by each who can do it."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.frames.records import TASKS, Input
from benchmarks.machine import machine

__all__ = ("add_to",)

APP = "kstreams App on embedded topics"
_WARM_UP = 3
_SLOW_SHARE = 10
"""Who is called by key gets so many times fewer records."""


def add_to(commands: Any, *, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Of the parser.
        count: Reads a number.
    """
    frames = commands.add_parser("frames", help="a topology on DataFrames beside App and Spark")
    frames.add_argument("names", nargs="*", help="some of those measured, by a part of the name")
    frames.add_argument("--records", type=count, default=2_000_000, help="%(default)s")
    frames.add_argument("--batch", type=count, default=125_000, help="records; %(default)s")
    frames.add_argument("--rounds", type=count, default=2, help="%(default)s")
    frames.add_argument("--json", type=Path, help="where to put the figures")
    frames.set_defaults(call=_frames)


def _frames(options: argparse.Namespace) -> int:
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    print(f"{options.records:,} records, {options.batch:,} a batch, {TASKS} tasks\n")
    with tempfile.TemporaryDirectory(prefix="kstreams-bench-") as directory:
        figures = _measured(options, Path(directory))
    head = ("", "records/s", "batch of a record a task, ms", "results")
    print("\n{:40}{:>12}{:>32}{:>12}".format(*head))
    for name, (rate, empty, results) in figures.items():
        print(f"{name:40}{rate:12,.0f}{empty:32,.0f}{results:12,}")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": about, "figures": figures}, indent=1))
    return 0


def _measured(options: argparse.Namespace, home: Path) -> dict[str, tuple[float, float, int]]:
    """Return records/s, milliseconds of a batch of almost nothing, and results, of the medians."""
    from benchmarks.frames.contenders import (  # noqa: PLC0415  # Spark, if it is asked for
        CONTENDERS,
        SLOW,
        run_app,
    )
    from kstreams.spark.session import app_session  # noqa: PLC0415  # as above

    given = Input(options.records, options.batch, home / "input")
    slow_batch = max(1, given.batch // _SLOW_SHARE)
    slow = Input(given.records // _SLOW_SHARE, slow_batch, home / "slow")
    given.write_files()
    slow.write_files()
    expected = {each: each.results() for each in (given, slow)}
    config = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": str(TASKS)}
    session = app_session("benchmark", config=config)
    chosen = [
        name
        for name in (*CONTENDERS, APP)
        if not options.names or any(part in name for part in options.names)
    ]
    rates: dict[str, list[float]] = {name: [] for name in chosen}
    empties: dict[str, list[float]] = {name: [] for name in chosen}
    for number in range(options.rounds):
        for name in chosen[number % len(chosen) :] + chosen[: number % len(chosen)]:
            own = home / f"{number}-{len(rates[name])}-{chosen.index(name)}"
            what = slow if name == SLOW else given
            if name == APP:
                run = run_app(session, replace(what, home=own), own / "run")
            else:
                query = CONTENDERS[name]
                run = query.run(session, what, what.files, own / "run")
                few = query.run(session, what, what.nothing, own / "nothing")
                empties[name].append(1000 * median(few.seconds[_WARM_UP:]))
            if run.results != expected[what]:
                raise ValueError(f"{name}: {run.results} results, not {expected[what]}")
            rates[name].append(run.rate(_WARM_UP))
            print(f"  {name}: {rates[name][-1]:,.0f} records/s", flush=True)
    session.stop()
    return {
        name: (
            median(rates[name]),
            median(empties[name]) if empties[name] else float("nan"),
            expected[slow if name == SLOW else given],
        )
        for name in chosen
    }
