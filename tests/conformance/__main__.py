"""`python -m tests.conformance FILE...`: run case files and count the cases that pass."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from kstreams.plugins import load_plugin
from kstreams.processors.columns import Execution
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.directory import Directory
from tests.conformance.restoring_backend import DurableState
from tests.support.conformance.case import Case, read_cases
from tests.support.conformance.driver_engine import Answer, run_on_driver
from tests.support.conformance.fake_frames_engine import in_time, run_on_played_frames
from tests.support.conformance.result_check import problem
from tests.support.conformance.window_topologies import build

_NAMED = 10
"""Most cases without an answer that are named."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    cases = list(read_cases(options.files))
    failed, unanswered = 0, list[str]()
    with ExitStack() as stack:
        out: IO[str] | None = None
        if options.out:
            out = stack.enter_context(options.out.open("w"))
        if options.engine.startswith("frames"):
            cases = [_in_time(case, options) for case in cases]
        for case, answer in _answers(cases, options, stack):
            wrong = answer if isinstance(answer, str) else problem(case, answer, cut=options.cut)
            if wrong is not None:
                failed += 1
                say(f"FAILED {case.name}: {wrong}")
            elif case.expected is None:
                unanswered.append(case.name)
            if out is not None and isinstance(answer, Answer):
                lists = by_input(case, answer, options.cut)
                line = {"name": case.name, "out": lists, "dropped": answer.dropped}
                out.write(json.dumps(line) + "\n")
    say(_summary(len(cases) - failed - len(unanswered), failed, unanswered))
    return 1 if failed else 0


def _summary(passed: int, failed: int, unanswered: Sequence[str]) -> str:
    """Return a summary line.

    Cases without an answer in their file were run, and compared with nothing.
    """
    text = f"{passed:,} passed, {failed:,} failed"
    if unanswered:
        rest = len(unanswered) - _NAMED
        names = ", ".join(unanswered[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
        text += f", {len(unanswered):,} without an answer: {names}"
    return text


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def backend(name: str) -> StateBackend:
    """Return a state backend by its name."""
    made: Any = load_plugin("kstreams.stores", name)
    found: StateBackend = made()
    return found


def _answers(
    cases: Sequence[Case], options: argparse.Namespace, stack: ExitStack
) -> Iterator[tuple[Case, Answer | str]]:
    """Yield each case with its answer, or with the reason why it has none."""
    state = _state(options, stack)
    if options.engine in ("spark", "frames"):
        yield from _on_spark(cases, options, state, stack)
        return
    run = run_on_played_frames if options.engine == "frames-played" else run_on_driver
    for case in cases:
        try:
            yield case, run(case, cut=options.cut, state=state, execution=options.execution)
        except Exception as exc:
            yield case, f"{type(exc).__name__}: {exc}"


def _in_time(case: Case, options: argparse.Namespace) -> Case:
    """Return a case as DataFrames process it, or the case itself if it cannot run at all."""
    if _unrunnable(case, options.execution) is not None:
        return case
    return in_time(case, options.cut, options.execution)


def _on_spark(
    cases: Sequence[Case],
    options: argparse.Namespace,
    state: StateBackend | None,
    stack: ExitStack,
) -> Iterator[tuple[Case, Answer | str]]:
    from kstreams.spark.session import app_session
    from tests.support.conformance.frames_engine import run_on_frames
    from tests.support.conformance.spark_engine import AT_ONCE, Run, run_on_spark

    session = app_session("conformance", config={"spark.master": "local[2]"})
    run = run_on_frames if options.engine == "frames" else run_on_spark
    stack.callback(session.stop)
    wrong = {id(case): found for case in cases if (found := _unrunnable(case, options.execution))}
    yield from ((case, wrong[id(case)]) for case in cases if id(case) in wrong)
    able = [case for case in cases if id(case) not in wrong]
    for begin in range(0, len(able), AT_ONCE):
        some = able[begin : begin + AT_ONCE]
        runs = [Run(case, options.execution) for case in some]
        try:
            answers = run(runs, session, cut=options.cut, state=state)
        except Exception as exc:
            for case in some:
                yield case, f"{type(exc).__name__}: {exc} (of one case of {len(some)})"
        else:
            yield from zip(some, answers, strict=True)


def _unrunnable(case: Case, execution: Execution) -> str | None:
    """Return the reason why a case has no topology, so that the others of its query can run."""
    try:
        build(case, execution)
    except ValueError as exc:
        return f"{type(exc).__name__}: {exc}"
    return None


def _state(options: argparse.Namespace, stack: ExitStack) -> StateBackend | None:
    """Return the backend, or None for the memory of the engine."""
    frames = options.engine.startswith("frames")
    if options.store == "memory":
        return None
    if options.store == "rocksdb":
        if not frames:
            return backend("rocksdb")
        from kstreams_rocksdb import RocksDB

        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="kstreams-log-"))
        return RocksDB(directory=home, log=Directory(f"{home}/log"))
    from devtools.servers.s3 import Bucket, S3Server
    from kstreams_rocksdb import RocksDB

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kstreams-s3-")))
    server = stack.enter_context(S3Server(folder))
    log = Bucket(server.url, f"conformance-{uuid.uuid4().hex[:8]}").settings()
    return DurableState(log) if options.engine == "driver" else RocksDB(log=log)


def by_input(case: Case, answer: Answer, cut: str) -> list[list[list[Any]]]:
    """Return a list of results for each input; results of a batch belong to its last input."""
    lists: list[list[list[Any]]] = [[] for _ in case.inputs]
    for batch, results in zip(case.batches(cut), answer.batches, strict=True):
        lists[batch[-1]] = [list(result) for result in results]
    return lists


def _file(name: str) -> Path:
    if not Path(name).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {name!r}")
    return Path(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=_file, metavar="FILE", help="a case a line")
    parser.add_argument(
        "--engine",
        choices=("driver", "spark", "frames", "frames-played"),
        default="driver",
        help="frames: topologies on DataFrames, many cases a query; frames-played: a query each, "
        "without a JVM",
    )
    parser.add_argument(
        "--store",
        choices=("memory", "rocksdb", "s3"),
        default="memory",
        help="s3: a server of its own; each batch begins by restoring what the log holds",
    )
    parser.add_argument(
        "--execution",
        choices=("records", "columns"),
        default="records",
        help="columns: a case that cannot run by columns fails",
    )
    parser.add_argument("--cut", choices=("1", "3", "all"), default="1")
    parser.add_argument("--out", type=Path, help="write {name, out, dropped} a line")
    return parser


if __name__ == "__main__":
    sys.exit(main())
