"""A server as a process: its clients and its use of resources."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from benchmarks.serve.clients import TOKEN, Client

__all__ = ("Served", "end", "line_of", "said")

_LIMIT_S = 60.0
_END_S = 20.0


class Served:
    """`kstreams serve` on a checkpoint; leaving the context stops the server.

    Args:
        place: The checkpoint.

    Attributes:
        started_s: Seconds until the server listened.
        idle_mb: Resident memory at that time.
    """

    def __init__(self, place: Path) -> None:
        self._begun = time.perf_counter()
        self._token = secrets.token_hex(16)
        self._environment = {**os.environ, TOKEN: self._token}
        program = "from kstreams_cli import main; main()"
        self._process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-c", program, "serve", str(place), "--bind", "127.0.0.1:0"],
            env=self._environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._port = int(line_of(self._process.stderr, r":(\d+)$")[1])
        self._listening()
        self.started_s = time.perf_counter() - self._begun
        self.idle_mb = self.resident_mb()

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()
        end(self._process)

    def _listening(self) -> None:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
            try:
                connection.request("GET", "/health/live")
                connection.getresponse().read()
            except ConnectionError:
                time.sleep(0.002)
            else:
                return
            finally:
                connection.close()

    def answers_s(self, path: str, *, reads: int = 1) -> float:
        """Send requests one after another until `reads` requests are answered.

        The server restores partitions for its first responses.

        Returns:
            Seconds from the start of the server to the last response.
        """
        with closing(Client(self._port, self._token, path, 0)) as client:
            answered = 0
            while answered < reads:
                try:
                    client.read()
                except RuntimeError:
                    if time.perf_counter() - self._begun > _LIMIT_S:
                        raise
                    answered = 0
                    time.sleep(0.01)
                else:
                    answered += 1
        return time.perf_counter() - self._begun

    def asked(
        self, path: str, *, clients: int, seconds: float, rate: float | None = None
    ) -> subprocess.Popen[str]:
        """Start clients that send requests; see `benchmarks.serve.clients`."""
        given = (path, clients, seconds, *(() if rate is None else (rate,)))
        return self._beside("benchmarks.serve.clients", given)

    def followed(self, path: str, seconds: float) -> subprocess.Popen[str]:
        """Start a follower of a store, or an open page; see `benchmarks.serve.following`."""
        return self._beside("benchmarks.serve.following", (path, seconds))

    def _beside(self, module: str, given: tuple[object, ...]) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603  # our own module
            [sys.executable, "-m", module, str(self._port), *map(str, given)],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def cpu_s(self) -> float:
        """Return the processor seconds used by the server."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Return the resident memory of the server."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        """Pause the process with SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume the process with SIGCONT."""
        self._process.send_signal(signal.SIGCONT)


def said(process: subprocess.Popen[str]) -> Any:  # JSON
    """Return the parsed JSON output of a process, after its end.

    Raises:
        RuntimeError: The process failed.
    """
    text, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a process has failed: {process.args!r}")
    return json.loads(text)


def end(process: subprocess.Popen[str]) -> None:
    """Stop a process."""
    process.terminate()
    process.communicate(timeout=_END_S)


def line_of(pipe: IO[str] | None, pattern: str) -> re.Match[str]:
    """Read the next line of a process and match it with a pattern.

    Raises:
        RuntimeError: The line does not match.
    """
    said_ = "" if pipe is None else pipe.readline().strip()
    found = re.search(pattern, said_)
    if found is None:
        raise RuntimeError(f"a process says {said_!r}")
    return found
