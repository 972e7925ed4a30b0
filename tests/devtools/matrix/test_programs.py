"""Programs with a time limit."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from devtools.matrix.programs import run
from devtools.processes import alive


def test_run_returns_code_and_output_and_passes_variables(tmp_path: Path) -> None:
    script = "import os, sys; print(os.environ['COLOR'], file=sys.stderr); sys.exit(3)"
    log = tmp_path / "new" / "log"

    ended = run([sys.executable, "-c", script], log, timeout_s=60, variables={"COLOR": "red"})

    assert (ended.code, ended.output) == (3, "red\n")
    assert log.read_text() == "red\n"


def test_run_at_its_time_limit_ends_the_program_and_its_children(tmp_path: Path) -> None:
    sleep = "import time; time.sleep(60)"
    script = f"import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', {sleep!r}])\n"
    script += "print(p.pid, flush=True)\np.wait()"

    ended = run([sys.executable, "-c", script], tmp_path / "log", timeout_s=3)

    assert ended.code is None
    deadline = time.monotonic() + 30
    while alive(int(ended.output)):
        assert time.monotonic() < deadline
