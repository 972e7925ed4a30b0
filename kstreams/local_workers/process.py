"""A worker process on this machine: `python -m kstreams.local_workers.process`.

The driver writes a pickled `ProcessSettings` to the standard input.
"""

from __future__ import annotations

import pickle
import signal
import sys
from dataclasses import dataclass

from kstreams.workers.worker import Worker, WorkerSettings

__all__ = ("ProcessSettings", "main")


@dataclass(frozen=True)
class ProcessSettings:
    """The settings of a worker process.

    Attributes:
        worker: The settings of the `Worker` that the process runs.
        path: The import path (`sys.path`) of the driver.
    """

    worker: WorkerSettings
    path: tuple[str, ...]


def main() -> None:
    """Run the worker whose settings are on the standard input.

    Do nothing if the driver has ended in the meantime, as at the end of a short run.
    """
    settings: ProcessSettings = pickle.load(sys.stdin.buffer)  # noqa: S301  # the driver's own
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the driver, too
    sys.path[:] = [*dict.fromkeys((*settings.path, *sys.path))]
    try:
        worker = Worker(settings.worker, _keep_import_path)
    except (FileNotFoundError, ConnectionError, EOFError):  # the driver accepts no connection
        return
    worker.work()


def _keep_import_path(folders: tuple[str, ...]) -> None:
    """Do nothing: `main` has already added the driver's import path."""


if __name__ == "__main__":
    main()
