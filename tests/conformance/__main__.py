"""`python -m tests.conformance FILE...`: run case files and count what passes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from kstreams.plugins import load_plugin
from kstreams.state.working import StateBackend
from tests.conformance.case import Case, read_cases
from tests.conformance.engine import Answer, run_on_driver
from tests.conformance.judge import problem


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    missing = _not_yet(options)
    if missing:
        sys.stderr.write(f"{missing}\n")
        return 2
    state = None if options.store == "memory" else backend(options.store)
    out: IO[str] | None = options.out.open("w") if options.out else None
    passed = failed = skipped = 0
    try:
        for case in read_cases(options.files):
            if case.is_join:
                skipped += 1
                continue
            wrong = _run(case, options, state, out)
            if wrong is None:
                passed += 1
            else:
                failed += 1
                say(f"FAILED {case.name}: {wrong}")
    finally:
        if out is not None:
            out.close()
    if skipped:
        say(f"{skipped} join cases skipped: there are no joins yet")
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def backend(name: str) -> StateBackend:
    """Return a state backend by its name."""
    made: Any = load_plugin("kstreams.stores", name)
    found: StateBackend = made()
    return found


def _run(
    case: Case, options: argparse.Namespace, state: StateBackend | None, out: IO[str] | None
) -> str | None:
    cut: str = options.cut
    try:
        answer = run_on_driver(case, cut=cut, state=state, path=options.path)
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
    if out is not None:
        line = {"name": case.name, "out": by_input(case, answer, cut), "dropped": answer.dropped}
        out.write(json.dumps(line) + "\n")
    return problem(case, answer, cut=cut)


def by_input(case: Case, answer: Answer, cut: str) -> list[list[list[Any]]]:
    """Return a list for each input; a batch's results stand at its last one."""
    lists: list[list[list[Any]]] = [[] for _ in case.inputs]
    for batch, results in zip(case.batches(cut), answer.batches, strict=True):
        lists[batch[-1]] = [list(result) for result in results]
    return lists


def _not_yet(options: argparse.Namespace) -> str | None:
    for name, value in (("engine", "spark"), ("store", "s3")):
        if getattr(options, name) == value:
            return f"--{name} {value}: not yet"
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--engine", choices=("driver", "spark"), default="driver")
    parser.add_argument("--store", choices=("memory", "rocksdb", "s3"), default="memory")
    parser.add_argument(
        "--path",
        choices=("record", "vector"),
        default="record",
        help="vector: on whole columns; a case that cannot run so fails",
    )
    parser.add_argument("--cut", choices=("1", "3", "all"), default="1")
    parser.add_argument("--out", type=Path, help="write {name, out, dropped} a line")
    return parser


if __name__ == "__main__":
    sys.exit(main())
