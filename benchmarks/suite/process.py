"""The process of a peer: starts it in a session of its own, reads its output, and stops it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from benchmarks.suite.peer import Command, Job
from benchmarks.suite.process_tree import Sampler, members

__all__ = ("PeerProcess",)

_POLL_S = 0.01
_STOP_S = 30.0
_SHOWN_LINES = 5
_ERROR = re.compile(r"[\w.$]*(Error|Exception)\b")


class PeerProcess:
    """A running peer.

    Attributes:
        progress: Moments with the number of records that the peer reported as processed.
        launched: The moment of the start.
    """

    def __init__(self, command: Command, job: Job) -> None:
        job.home.mkdir(parents=True, exist_ok=True)
        self.log = job.log
        self.progress: list[tuple[float, int]] = []
        environment = {**os.environ, **job.environment(), **command.environment}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603  # a peer's command, from this repository
                command.arguments,
                cwd=job.home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.launched = time.monotonic()
        self.sampler = Sampler(self._process.pid)
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the session of its descendants."""
        return self._process.pid

    @property
    def ended(self) -> int | None:
        """The exit status; None while the process runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Stop the process and its descendants."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        for pid in members(self._process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()
        end = time.monotonic() + _STOP_S
        while members(self._process.pid) and time.monotonic() < end:
            time.sleep(_POLL_S)
        self._reader.join(5)
        self.sampler.stop()

    def last_words(self) -> str:
        """Return the last error in the output, or else the last lines."""
        lines = self.log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if _ERROR.match(line)]
        return "\n".join(errors[-1:] or lines[-_SHOWN_LINES:])

    def _listen(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream, Path(self.log).open("ab") as log:
            for line in stream:
                word, _, number = line.partition(b" ")
                if word == b"progress":
                    self.progress.append((time.monotonic(), int(number)))
                else:
                    log.write(line)
