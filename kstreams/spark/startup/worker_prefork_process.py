"""A process that imports the modules of workers once, and forks Spark's Python daemons."""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

__all__ = ("main",)

_DAEMON = "pyspark.daemon"
_WORKERS = ["pyspark.worker"]
_MOST_BYTES = 16 * 1024 * 1024
_LIMIT_SECONDS = 30.0
_FIXED = ("ARROW_", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "OMP_", "OPENBLAS_", "PYTHONHASHSEED")
"""Prefixes of variables that libraries read when loaded; other values need another process."""


def main() -> None:
    """Import modules, then fork a daemon for each request, until the input ends.

    The command-line arguments are the daemon's module name, which tools such as `ps` then show, and
    the file descriptor of the socket for requests. The first line of the standard input names the
    modules. A module that cannot be imported is skipped; a worker that needs it raises the error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver
    listener = socket.socket(fileno=int(sys.argv[2]))
    sys.argv[1:] = _WORKERS  # the daemon's worker module
    for name in (_DAEMON, *_line().split()):
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child is waited for
    while True:
        ready, _, _ = select.select([0, listener.fileno()], [], [])
        if 0 in ready and not os.read(0, 1):
            return
        if listener.fileno() in ready:
            asking, _ = listener.accept()
            if not _forked():
                listener.close()
                _be_daemon(asking)
            asking.close()


def _line() -> str:
    request = b""
    while not request.endswith(b"\n") and (more := os.read(0, 65536)):
        request += more
    return request.decode()


def _forked() -> int:
    with warnings.catch_warnings():  # of threads: those of number libraries take a fork
        warnings.simplefilter("ignore")
        return os.fork()


def _be_daemon(asking: socket.socket) -> None:
    """Run the requested daemon, or exit if it needs another environment; never returns."""
    status = 1
    try:
        asking.settimeout(_LIMIT_SECONDS)
        request, descriptors = _read(asking)
        if request is not None and _is_ours(request):
            asking.settimeout(None)
            _take_place(request, descriptors)
            asking.sendall(os.getpid().to_bytes(4, "big"))
            os.register_at_fork(after_in_child=asking.close)  # it ends with this process
            daemon = sys.modules[_DAEMON]
            sys.modules["__main__"] = daemon
            daemon.manager()
            status = 0
    except SystemExit as exc:
        status = exc.code if isinstance(exc.code, int) else 1
    finally:
        os._exit(status)


def _read(asking: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    head, descriptors, _, _ = socket.recv_fds(asking, 4, 3)
    size = int.from_bytes(head, "big")
    if len(head) != 4 or len(descriptors) != 3 or size > _MOST_BYTES:
        return None, []
    data = asking.recv(size, socket.MSG_WAITALL)
    return json.loads(data), descriptors


def _is_ours(request: Mapping[str, Any]) -> bool:
    """Return whether a fork of this process has the environment that the request needs."""
    environment: Mapping[str, str] = request["environment"]
    names = {*environment, *os.environ}
    fixed = [name for name in names if name.startswith(_FIXED)]
    return (
        request["python"] == [sys.executable, sys.version]
        and request["arguments"] == _WORKERS
        and all(environment.get(name) == os.environ.get(name) for name in fixed)
        and _DAEMON in sys.modules
    )


def _take_place(request: Mapping[str, Any], descriptors: list[int]) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]
    sys.argv = [_DAEMON, *request["arguments"]]
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


if __name__ == "__main__":
    main()
