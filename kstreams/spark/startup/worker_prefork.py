"""The prefork process: it imports modules while Java starts, and forks the workers of a session."""

from __future__ import annotations

import atexit
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from kstreams.scratch import scratch_directory
from kstreams.spark.startup.early_jvm import is_plain

__all__ = ("prefork_settings",)

_LOG = logging.getLogger(__name__)
_DAEMON = "spark.python.daemon.module"
_PLACE = "spark.executorEnv.KSTREAMS_PREFORK"
_OWN = (_DAEMON, "spark.python.worker.module", "spark.python.use.daemon")
_LOCK = threading.Lock()
_PROCESS = "kstreams.spark.startup.worker_prefork_process"
_WORKER = "kstreams.spark.launcher"
_OF_DRIVERS = (
    "kstreams_cli",
    "kstreams_serve",
    "kstreams_testing",
    "kstreams.spark",
    "kstreams.testing",
    "kstreams.views",
)
_WAITING = 1024
_OF_WORKERS = {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "YES"}
"""Variables of Python and of number libraries as Spark has them by default."""
_running: _PreforkProcess | None = None


@dataclass(frozen=True)
class _PreforkProcess:
    process: subprocess.Popen[bytes]
    place: Path


def prefork_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Start the prefork process, and return the Spark settings that make Spark use its workers.

    Spark starts a daemon for each set of worker variables, and so for each pinned worker; each
    daemon would import all modules. The prefork process imports them once, while Java and the
    session start, and forks. A daemon without a prefork process, or with another Python or other
    variables, works as usual.

    Args:
        settings: The other settings of the session.

    Returns:
        An empty dict if Spark's workers do not run with this Python on this machine.
    """
    global _running  # noqa: PLW0603  # one a process
    if not _is_for(settings):
        return {}
    with _LOCK:
        try:
            if _running is None or _running.process.poll() is not None:
                _running = _begun()
        except OSError as exc:
            _LOG.info("workers are started one by one: %s", exc)
            return {}
        return {_DAEMON: "kstreams_daemon", _PLACE: str(_running.place)}


def _is_for(settings: Mapping[str, str]) -> bool:
    return (
        sys.platform == "linux"
        and is_plain(settings)
        and os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable
        and not any(name in settings for name in _OWN)
    )


def _begun() -> _PreforkProcess:
    with ExitStack() as scratch:
        place = scratch.enter_context(scratch_directory()) / "socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
            listener.listen(_WAITING)
            descriptor = listener.fileno()
            process = subprocess.Popen(  # noqa: S603  # this Python
                [sys.executable, "-m", _PROCESS, "pyspark.daemon", str(descriptor)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PYTHONHASHSEED": "0", **os.environ, **_OF_WORKERS},
                pass_fds=[descriptor],
            )
        atexit.register(scratch.pop_all().close)
    told = " ".join((_WORKER, *_of_workers(sys.modules))).encode()
    with suppress(BrokenPipeError):
        if process.stdin is not None:  # stays open: the prefork process ends with it
            process.stdin.write(told + b"\n")
            process.stdin.flush()
    return _PreforkProcess(process, place)


def _of_workers(names: Iterable[str]) -> list[str]:
    """Return the names of the library's and plugins' modules that workers also need."""
    return [
        name
        for name in list(names)
        if name.startswith(("kstreams.", "kstreams_")) and not name.startswith(_OF_DRIVERS)
    ]
