"""Processes of peers are sampled, ended with their children, and report why they failed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.suite.peer import Command, Job
from benchmarks.suite.process import PeerProcess
from benchmarks.suite.process_tree import members
from benchmarks.suite.registry import workload_by

PARENT = """
import os, subprocess, sys, time
code = "import time; held = bytes([1]) * 50_000_000; time.sleep(600)"
subprocess.Popen([sys.executable, "-c", code])
print("progress 7", flush=True)
print("told by", os.environ["BENCH_OUTPUT"], flush=True)
print("progress 9", flush=True)
time.sleep(600)
"""


def job(home: Path) -> Job:
    return Job(workload_by("W1"), "127.0.0.1:1", ("in",), "out", (10,), 5, home)


def wait_for(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_peer_process_reports_progress_and_samples_and_stop_ends_its_children(
    tmp_path: Path,
) -> None:
    own = job(tmp_path / "home")
    process = PeerProcess(Command((sys.executable, "-c", PARENT)), own)
    try:
        wait_for(lambda: [number for _, number in process.progress] == [7, 9])
        wait_for(lambda: process.sampler.peak_pss > 50_000_000)
        pids = members(process.pid)
        assert len(pids) == 2
    finally:
        process.stop()
    assert process.ended is not None
    assert members(process.pid) == []
    assert "told by out" in process.last_words()
    assert process.sampler.samples[-1].cpu > 0


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param("raise SystemExit('no such thing')", "no such thing", id="last line"),
        pytest.param(
            "import atexit; atexit.register(print, 'bye'); raise OSError('full')",
            "OSError: full",
            id="last error",
        ),
    ],
)
def test_failed_peer_process_keeps_its_last_output(tmp_path: Path, code: str, said: str) -> None:
    command = Command((sys.executable, "-c", code))
    process = PeerProcess(command, job(tmp_path / "home"))
    wait_for(lambda: process.ended is not None)
    process.stop()
    assert process.ended == 1
    assert process.last_words() == said
