"""A package index on loopback that has the distributions of a release."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from devtools.release.progress import ReleaseError
from devtools.release.tools import tool

__all__ = ("serve",)

_START_SECONDS = 30


@contextmanager
def serve(dist: Path, log: Path) -> Iterator[str]:
    """Serve a folder of distributions while the block runs, and yield the address of the index.

    Args:
        dist: The folder.
        log: The file for the output of the server.

    Raises:
        ReleaseError: The server does not start.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/simple/"
    command = [tool("pypi-server"), "run", "--interface", "127.0.0.1", "--port", port]
    command += ["--disable-fallback", "--hash-algo", "sha256", dist]
    with log.open("wb") as output:
        server = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        _wait(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError) as exc:
            if server.poll() is not None or time.monotonic() > end:
                raise ReleaseError(
                    f"the index on loopback did not start: {exc}\n{log.read_text()[-2000:]}"
                ) from exc
            time.sleep(0.1)
