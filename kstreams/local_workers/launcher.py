"""Starts worker processes on this machine, and replaces processes that have ended."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress

from kstreams.errors import ExecutionError
from kstreams.local_workers.process import ProcessSettings
from kstreams.workers.launcher import DriverEndpoint
from kstreams.workers.worker import WorkerSettings

__all__ = ("LocalLauncher",)

_MODULE = "kstreams.local_workers.process"
_END_S = 5.0
_MAX_FAILED_STARTS = 3
_START_S = 10.0
"""A process that ends within this time (s) after its start counts as a failed start."""


class LocalLauncher:
    """Starts worker processes; each `launch` replaces the processes that have ended.

    Args:
        count: The number of processes.
    """

    patience_s = 60.0

    def __init__(self, count: int) -> None:
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._count = count
        self._began: dict[int, float] = {}
        self._failed = 0
        self._lock = threading.Lock()

    def launch(self, endpoint: DriverEndpoint) -> None:
        """Start the processes that are missing, or have ended.

        Args:
            endpoint: The address and the secret with which the processes connect to the driver.

        Raises:
            ExecutionError: Too many processes have ended right after their start.
        """
        with self._lock:
            for number in range(self._count):
                process = self._processes.get(number)
                if process is not None and process.poll() is None:
                    continue
                if process is not None:
                    self._count_failure(number, process.returncode)
                self._processes[number] = self._started(endpoint, number)
                self._began[number] = time.monotonic()

    def grow(self, count: int) -> None:
        """Change the number of processes that `launch` starts; see `Launcher`."""
        self._count = count

    def _count_failure(self, number: int, code: int) -> None:
        if time.monotonic() - self._began[number] > _START_S:
            self._failed = 0
            return
        self._failed += 1
        if self._failed > _MAX_FAILED_STARTS * self._count:
            raise ExecutionError(
                f"worker process {number} ended with exit code {code} right after its start",
                hint="see the output of the process for the cause, such as a module that cannot be "
                "imported.",
            )

    def _started(self, endpoint: DriverEndpoint, number: int) -> subprocess.Popen[bytes]:
        worker = WorkerSettings(endpoint, number)
        process = subprocess.Popen(  # noqa: S603  # this Python
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            start_new_session=True,  # SIGINT of a terminal is for the driver
        )
        data = pickle.dumps(ProcessSettings(worker, tuple(sys.path)))
        if process.stdin is not None:
            with suppress(OSError), process.stdin as given:  # it has ended at once
                given.write(data)
        return process

    def stop(self) -> None:
        """Wait at most 5 s for the processes to end by themselves, then kill the others."""
        with self._lock:
            end = time.monotonic() + _END_S
            for process in self._processes.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, end - time.monotonic()))
                if process.poll() is None:
                    process.kill()
                    process.wait()
            self._processes.clear()
