"""The command `frames`: the cost of a windowed count in several implementations.

A contender is one implementation: the library's on DataFrames, `App`, or Spark's own operators.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.frames.processor_time import ProcessorTime
from benchmarks.frames.records import TASKS, Input
from benchmarks.machine import machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.frames.run import Run

__all__ = ("add_to",)

APP = "kstreams App on embedded topics"
_WARM_UP = 3
_IDLE_BATCHES = 15
_PER = 100_000
_SLOW_RECORDS = 2_000
_SLOW_BATCHES = 4


def add_to(commands: Any, *, count: Callable[[str], int]) -> None:
    """Add the command.

    Args:
        commands: Subparsers of the parser.
        count: Reads a number.
    """
    frames = commands.add_parser(
        "frames", help="compare a topology on DataFrames with App and Spark"
    )
    frames.add_argument(
        "names", nargs="*", help="parts of names of contenders; default: all contenders"
    )
    frames.add_argument(
        "--batch",
        type=count,
        action="append",
        help="records per batch; repeatable; default: 20000 and 200000",
    )
    frames.add_argument(
        "--batches", type=count, default=8, help="measured batches; default: %(default)s"
    )
    frames.add_argument(
        "--seconds", type=count, default=150, help="time limit of a run; default: %(default)s"
    )
    frames.add_argument(
        "--part",
        choices=("rates", "small", "all"),
        default="all",
        help="part to run; default: %(default)s",
    )
    frames.add_argument("--json", type=Path, help="also write the figures to this file, as JSON")
    frames.set_defaults(call=_frames)


@dataclass(frozen=True)
class _Figures:
    """Figures of one contender; latencies in milliseconds, processor time in seconds."""

    name: str
    batch: int
    records_s: float = float("nan")
    cpu_s: float = float("nan")
    median_ms: float = float("nan")
    p95_ms: float = float("nan")
    results: int = 0
    failure: str | None = None


def _frames(options: argparse.Namespace) -> int:
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, Python {about['python']}, load {about['load']}")
    print(f"{TASKS} tasks; processor time of all processes, seconds for {_PER:,} records\n")
    figures: list[_Figures] = []
    with tempfile.TemporaryDirectory(prefix="kstreams-bench-") as directory, ProcessorTime() as cpu:
        suite = _Suite(options, Path(directory), cpu)
        for each in suite.figures():
            figures.append(each)
            print(_line(each), flush=True)
    if options.json is not None:
        found = [asdict(each) for each in figures]
        options.json.write_text(json.dumps({"machine": about, "figures": found}, indent=1))
    return 0


def _line(found: _Figures) -> str:
    what = f"{found.name:40}{found.batch:>9,} a batch"
    if found.failure is not None:
        return f"{what}  failed: {found.failure}"
    times = f"{found.median_ms:9,.0f} ms, p95 {found.p95_ms:7,.0f}, cpu {found.cpu_s:6.2f} s"
    rate = "" if np.isnan(found.records_s) else f"{found.records_s:11,.0f} records/s"
    return f"{what}{times}{rate}"


class _Suite:
    """Runs the contenders one after the other in one session."""

    def __init__(self, options: argparse.Namespace, home: Path, cpu: ProcessorTime) -> None:
        self._options = options
        self._home = home
        self._cpu = cpu
        self._runs = 0

    def figures(self) -> Any:
        """Yield the figures of each contender."""
        from benchmarks.frames.contenders import CONTENDERS, SLOW  # noqa: PLC0415  # Spark
        from kstreams.frames import frame_settings  # noqa: PLC0415  # as above
        from kstreams.spark.session import app_session  # noqa: PLC0415  # as above

        config = {"spark.master": "local[2]", **frame_settings(TASKS, local_checkpoint=True)}
        session = app_session("benchmark", config=config)
        names = self._options.names
        chosen = [
            name for name in (*CONTENDERS, APP) if not names or any(part in name for part in names)
        ]
        fast = [name for name in chosen if name != SLOW]
        if self._options.part != "small":
            for size in self._options.batch or (20_000, 200_000):
                given = self._input(size, self._options.batches)
                for name in fast:
                    yield self._measured(session, name, given)
            if SLOW in chosen:
                yield self._measured(session, SLOW, self._input(_SLOW_RECORDS, _SLOW_BATCHES))
        if self._options.part != "rates":
            given = self._input(TASKS, 1)
            for name in fast:
                yield from self._small(session, name, given)
        session.stop()

    def _input(self, batch: int, batches: int) -> Input:
        given = Input(batch * (batches + _WARM_UP), batch, self._home / f"input-{batch}")
        given.write_files()
        return given

    def _measured(self, session: SparkSession, name: str, given: Input) -> _Figures:
        from benchmarks.frames.contenders import CONTENDERS, run_app  # noqa: PLC0415  # Spark

        query = CONTENDERS.get(name)
        if query is None:
            run = run_app(session, given, given.batches(), self._next_home())
        else:
            seconds = self._options.seconds
            run = query.run(session, given, given.files, self._next_home(), seconds=seconds)
        expected = given.results() if query is None or query.is_counted else 0
        if run.failure is None and run.results != expected:
            run.failure = f"{run.results:,} results, not {expected:,}"
        if run.failure is not None:
            return _Figures(name, given.batch, failure=run.failure)
        return _Figures(
            name,
            given.batch,
            run.rate(_WARM_UP),
            run.cpu(_WARM_UP, self._cpu, _PER),
            *_percentiles(run, slice(_WARM_UP, -1)),
            run.results,
        )

    def _small(self, session: SparkSession, name: str, given: Input) -> Any:
        """Yield latencies of batches with one record per task and, if supported, without any."""
        from benchmarks.frames.contenders import CONTENDERS, run_app  # noqa: PLC0415  # Spark

        query = CONTENDERS.get(name)
        seconds = self._options.seconds
        if query is None:
            run = run_app(session, given, given.few(), self._next_home())
        else:
            run = query.run(session, given, given.nothing, self._next_home(), seconds=seconds)
        yield self._fixed(name, TASKS, run)
        if query is not None and query.with_timers is not None:
            run = query.idle(
                session, given, self._next_home(), batches=_IDLE_BATCHES, seconds=seconds
            )
            yield self._fixed(name, 0, run)

    def _fixed(self, name: str, batch: int, run: Run) -> _Figures:
        if run.failure is not None:
            return _Figures(name, batch, failure=run.failure)
        cpu = run.cpu_a_batch(_WARM_UP, self._cpu)
        times = _percentiles(run, slice(_WARM_UP, None))
        return _Figures(name, batch, float("nan"), cpu, *times, run.results)

    def _next_home(self) -> Path:
        self._runs += 1
        return self._home / f"run-{self._runs}"


def _percentiles(run: Run, which: slice) -> tuple[float, float]:
    """Return the median and the 95th percentile of batch durations, in ms."""
    times = [1000 * each.seconds for each in run.batches[which]]
    return float(np.median(times)), float(np.percentile(times, 95))
