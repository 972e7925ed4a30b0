"""The command `explain`: time to find the records of a large batch that led to a key's value."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.explain import topologies
from benchmarks.machine import machine
from benchmarks.measured import Times
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.store_place import StorePlace, checkpoint_of
from kstreams.embedded.connection import Embedded
from kstreams.emitter import Emitter
from kstreams_explain.explained import ExplainedChange, explain_key
from kstreams_explain.replayed_app import ReplayedApp

__all__ = ("add_to",)

_PROGRAM = "from kstreams_cli import main; main()"
_CASES = {
    "words": (topologies.words, topologies.COUNTS),
    "windows": (topologies.windows, topologies.WINDOWS),
}
_BEFORE = 20_000
_KEYS = 20_000
_PARTITIONS = 4
_KEY = "key-77"
_A_SECOND = 500


def add_to(commands: Any, *, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        count: Reads a number.
    """
    explain = commands.add_parser(
        "explain", help="measure the time to explain a value of a large batch"
    )
    explain.add_argument(
        "--records", type=count, default=250_000, help="records per batch; default: %(default)s"
    )
    explain.add_argument("--rounds", type=count, default=5, help="rounds; default: %(default)s")
    explain.add_argument(
        "--case", choices=_CASES, action="append", help="case; repeatable; default: all"
    )
    explain.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    explain.set_defaults(call=_explain)


def _explain(options: argparse.Namespace) -> int:
    figures: dict[str, dict[str, dict[str, float]]] = {}
    print(json.dumps(machine()))
    print(f"{'':10}{'':14}{'median ms':>10}{'slowest':>9}{'CPU ms':>9}")
    for case in options.case or _CASES:
        with tempfile.TemporaryDirectory(prefix="kstreams-explain-") as folder:
            home = Path(folder)
            _made(home, case, options.records)
            library, command = Times(), Times()
            for _ in range(options.rounds):
                with library:
                    found = _by_library(home, case)
                _check(found, options.records)
                _by_command(home, case, command)
        figures[case] = {"library": library.figures(), "command line": command.figures()}
        for name, times in (("library", library), ("command line", command)):
            print(f"{case:10}{name:14}{times.ms()}", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine(), "figures": figures}, indent=1))
    return 0


def _made(home: Path, case: str, records: int) -> None:
    """Run an app on Spark: a small batch, then one batch with all the records."""
    topics = Embedded(home / "topics", default_partitions=_PARTITIONS)
    topics.log().ensure(topologies.LINES.name, _PARTITIONS)
    drawn = random.Random(1)  # not for secrets
    written = 0
    for count in (_BEFORE, records):
        with Emitter(topologies.LINES, topics) as emitter:
            for number in range(written, written + count):
                key = f"key-{drawn.randrange(_KEYS)}"
                time_ms = 1_790_000_000_000 + 1_000 * (number // _A_SECOND)
                emitter.emit(key, key, timestamp=time_ms)
        written += count
        _kstreams(home, "run", _target(case), "--until", "end", "--checkpoint", str(home / "app"))


def _target(case: str) -> str:
    return f"benchmarks.explain.topologies:{case}"


def _kstreams(home: Path, *arguments: str) -> None:
    subprocess.run(  # noqa: S603  # our own program
        [sys.executable, "-c", _PROGRAM, *arguments],
        env={**os.environ, "KSTREAMS_DATA": str(home / "topics"), "KSTREAMS_BOOTSTRAP": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def _by_library(home: Path, case: str) -> ExplainedChange:
    topology, spec = _CASES[case]
    checkpoint = Checkpoint.load(checkpoint_of(str(home / "app")))
    place = StorePlace.find(checkpoint.home, None, spec)
    topics = Embedded(home / "topics")
    app = ReplayedApp(checkpoint, topology(), topics, checkpoint.log)
    (found,) = explain_key(place, _KEY, app).explained
    return found


def _check(found: ExplainedChange, records: int) -> None:
    """Check that the right batch was explained and that its results equal the committed ones."""
    read = sum(each.to_offset - each.from_offset for each in found.ranges)
    if read != records or not found.is_equal or len(found.steps) < 2:  # more than one record
        raise ValueError(
            f"batch {found.change.batch} was explained with {read} records and {len(found.steps)} "
            f"steps, expected {records} records, at least 2 steps and the committed results: "
            f"{found.not_run or 'the replay has run'}"
        )


def _by_command(home: Path, case: str, times: Times) -> None:
    arguments: Sequence[str] = ("explain", case, "counts", _KEY, "--checkpoint", str(home / "app"))
    began, before = time.perf_counter(), _children_seconds()
    _kstreams(home, *arguments, "--topology", _target(case))
    times.wall.append(time.perf_counter() - began)
    times.cpu.append(_children_seconds() - before)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
