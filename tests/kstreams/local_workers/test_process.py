"""A worker process of the embedded engine that starts too late."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams.local_workers.process import ProcessSettings
from kstreams.workers.launcher import DriverEndpoint
from kstreams.workers.worker import WorkerSettings

pytestmark = pytest.mark.slow


def _ended(address: str) -> subprocess.CompletedProcess[bytes]:
    endpoint = DriverEndpoint(address, b"secret", f"{address}-own")
    settings = ProcessSettings(WorkerSettings(endpoint, 0), tuple(sys.path))
    command = [sys.executable, "-m", "kstreams.local_workers.process"]
    return subprocess.run(command, input=pickle.dumps(settings), capture_output=True, check=False)


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed socket", "no socket"])
def test_worker_that_starts_after_the_end_of_the_driver_ends_without_output(
    tmp_path: Path, is_closed: bool
) -> None:
    address = str(tmp_path / "driver")
    if is_closed:
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(address)
    done = _ended(address)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
