"""The command `start`: elapsed and processor seconds to the first result, compared with peers."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.machine import machine
from benchmarks.start.run import Start, StartFailed, first_result
from benchmarks.suite.cluster import Cluster
from benchmarks.suite.peer import Command, Job, Unavailable
from benchmarks.suite.registry import peer_by, workload_by
from benchmarks.suite.repository import ON_PATH, ROOT

__all__ = ("add_to",)

_RECORDS = 50_000
_BATCH = 250_000
_PEERS = ("kstreams", "kstreams-embedded", "kafka-streams", "spark")
_KINDS = ("wall", "cpu", "driver", "jvm", "workers")


def add_to(commands: Any, *, cache: Path, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        cache: The default folder of peers and topics.
        count: Reads a number.
    """
    start = commands.add_parser(
        "start", help="measure the time from the start of a program to its first result"
    )
    start.add_argument(
        "--rounds", type=count, default=5, help="rounds after a warm-up; default: %(default)s"
    )
    start.add_argument(
        "--part",
        action="append",
        choices=("words", "W1"),
        help="part to run; repeatable; default: all",
    )
    start.add_argument(
        "--cache", type=Path, default=cache, help="folder of peers and topics; default: %(default)s"
    )
    start.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    start.set_defaults(call=_start)


def _start(options: argparse.Namespace) -> int:
    parts: list[str] = options.part or ["words", "W1"]
    runs: dict[str, list[Start]] = {}
    problems = 0
    cases = _word_counts(options.cache) if "words" in parts else {}
    if "W1" in parts:
        with Cluster(options.cache) as cluster:
            cases |= _of_w1(options.cache, cluster)
            problems = _rounds(cases, options.rounds, runs)
    else:
        problems = _rounds(cases, options.rounds, runs)
    print(json.dumps(machine()))
    print(f"{'seconds to the first result':28}" + "".join(f"{kind:>9}" for kind in _KINDS))
    for name, starts in runs.items():
        figures = (median(getattr(each, kind) for each in starts) for kind in _KINDS)
        print(f"{name:28}" + "".join(f"{figure:9.2f}" for figure in figures))
    if options.json is not None:
        text = {"machine": machine(), "runs": {n: [asdict(s) for s in r] for n, r in runs.items()}}
        options.json.write_text(json.dumps(text, indent=1))
    return int(problems > 0)


def _rounds(
    cases: Mapping[str, Callable[[], Start]], rounds: int, runs: dict[str, list[Start]]
) -> int:
    """Run all cases alternately, with one warm-up round; return the number of failed runs."""
    problems = 0
    for number in range(rounds + 1):
        for name, run in cases.items():
            try:
                start = run()
            except StartFailed as exc:
                print(f"{name}: {exc}", file=sys.stderr)
                problems += 1
                continue
            print(
                f"{name}: {start.wall:.2f} s, {start.cpu:.2f} s of processor time", file=sys.stderr
            )
            if number:
                runs.setdefault(name, []).append(start)
    return problems


def _word_counts(cache: Path) -> dict[str, Callable[[], Start]]:
    def case(module: str, *given: str) -> Callable[[], Start]:
        def run() -> Start:
            home = _home(cache)
            arguments = (sys.executable, "-m", f"benchmarks.start.{module}", str(home), *given)
            command = Command(arguments, {"PYTHONPATH": f"{ON_PATH}:{ROOT / 'examples'}"})
            try:
                return first_result(command, home, lambda said: "\nfirst " in f"\n{said}")
            finally:
                shutil.rmtree(home, ignore_errors=True)

        return run

    return {
        "words, kstreams": case("words_of_ours", "spark"),
        "words, kstreams embedded": case("words_of_ours", "embedded"),
        "words, Spark": case("words_of_spark"),
    }


def _of_w1(cache: Path, cluster: Cluster) -> dict[str, Callable[[], Start]]:
    workload = workload_by("W1")
    for dataset in workload.datasets:
        cluster.fill(dataset, _RECORDS, lambda _: None)

    def case(name: str) -> Callable[[], Start]:
        peer = peer_by(name)
        peer.install(cache)

        def run() -> Start:
            home = _home(cache)
            output = f"bench-out-{home.name}"
            cluster.create(output, workload.dataset.partitions)
            topics, sizes = workload.topics(_RECORDS), workload.sizes(_RECORDS)
            job = Job(workload, cluster.bootstrap, topics, output, sizes, _BATCH, home / "job")
            job.home.mkdir()
            command = peer.command(job, cache)
            told = {**job.environment(), **command.environment}
            try:
                return first_result(
                    Command(command.arguments, told), home, lambda _: cluster.ends(output) > 0
                )
            finally:
                shutil.rmtree(home, ignore_errors=True)

        return run

    cases: dict[str, Callable[[], Start]] = {}
    for name in _PEERS:
        try:
            cases[f"W1, {name}"] = case(name)
        except Unavailable as exc:
            print(f"{name}: skipped, {exc}", file=sys.stderr)
    return cases


def _home(cache: Path) -> Path:
    home = cache / "runs" / f"start-{uuid4().hex[:8]}"
    home.mkdir(parents=True)
    return home
