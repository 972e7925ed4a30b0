"""Both type checkers accept the typed files, and refuse exactly the marked lines of the others.

`KSTREAMS_TYPES_PYTHON=3.14` checks them for that Python instead of the oldest one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TYPED = sorted(HERE.glob("typed_*.py"))
WRONG = sorted(HERE.glob("wrong_*.py"))
FOR_PYTHON = os.environ.get("KSTREAMS_TYPES_PYTHON", "3.10")
ERROR_OF_MYPY = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)$")

Errors = dict[tuple[str, int], str]


def run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(cache: Path) -> Errors:
    files = [str(path) for path in (*TYPED, *WRONG)]
    text = run("mypy", "--python-version", FOR_PYTHON, "--cache-dir", str(cache), *files)
    found = (ERROR_OF_MYPY.match(line) for line in text.splitlines())
    return {
        (Path(error["file"]).name, int(error["line"])): error["text"] for error in found if error
    }


def pyright(_: Path) -> Errors:
    where = ["--project", str(HERE), "--pythonpath", sys.executable]
    where += ["--pythonversion", FOR_PYTHON]
    report = json.loads(run("basedpyright", "--outputjson", *where))
    assert report["summary"]["filesAnalyzed"] == len(TYPED) + len(WRONG)
    return {
        (Path(item["file"]).name, item["range"]["start"]["line"] + 1): item["message"]
        for item in report["generalDiagnostics"]
        if item["severity"] == "error"
    }


def red_lines(path: Path) -> set[int]:
    lines = path.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# red")}


@pytest.mark.long
@pytest.mark.parametrize("checker", [mypy, pyright])
def test_type_checkers_accept_typed_files_and_report_exactly_marked_lines(
    checker: Callable[[Path], Errors], pytestconfig: pytest.Config
) -> None:
    assert pytestconfig.cache is not None
    refused = checker(pytestconfig.cache.mkdir("mypy"))
    expected = {(path.name, line) for path in (*TYPED, *WRONG) for line in red_lines(path)}
    extra = {place: text for place, text in refused.items() if place not in expected}
    assert (extra, sorted(expected - set(refused))) == ({}, [])


def test_type_error_files_have_at_least_a_hundred_marked_lines() -> None:
    assert not any(map(red_lines, TYPED))
    assert sum(len(red_lines(path)) for path in WRONG) >= 100
