"""The addresses of the servers of a running playground, for commands in other terminals."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from devtools.workspace import ROOT

__all__ = ("FOLDER", "PROGRAMS", "Addresses")

FOLDER = ROOT / "build" / "playground"
PROGRAMS = ROOT / "deploy" / "playground"
_STOP_S = 60.0
_PAUSE_S = 0.1


class Addresses:
    """The file with the environment variables of the programs in deploy/playground.

    Args:
        folder: The folder of the file.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._file = folder / "addresses.json"
        self._stop = folder / "stop-app"

    @contextmanager
    def stopped_app(self) -> Iterator[None]:
        """Stop the app of the running playground meanwhile.

        Raises:
            TimeoutError: The playground has not stopped the app.
        """
        self._stop.touch()
        try:
            deadline = time.monotonic() + _STOP_S
            while not self._stop.read_text():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the app still runs after {_STOP_S:.0f} s")
                time.sleep(_PAUSE_S)
            yield
        finally:
            self._stop.unlink(missing_ok=True)

    def is_stop_requested(self) -> bool:
        """Return whether the app must not run now."""
        return self._stop.exists()

    def confirm_stop(self) -> None:
        """Let `stopped_app` continue: the app has ended."""
        self._stop.write_text("stopped")

    def write(self, variables: Mapping[str, str]) -> None:
        """Write the variables of a playground that has started."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._stop.unlink(missing_ok=True)
        self._file.write_text(json.dumps({**variables, "PLAYGROUND_PID": str(os.getpid())}))

    def remove(self) -> None:
        """Remove the file: the playground has stopped."""
        self._file.unlink(missing_ok=True)
        self._stop.unlink(missing_ok=True)

    def read(self) -> dict[str, str]:
        """Return the variables; empty if no playground runs as processes."""
        try:
            found: dict[str, str] = json.loads(self._file.read_text())
        except FileNotFoundError:
            return {}
        return found if Path("/proc", found["PLAYGROUND_PID"]).exists() else {}
