"""A package index on loopback that has the distributions of a release, and a wheel of Spark."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from devtools.release.progress import ReleaseError, run, step
from devtools.release.tools import WORK, tool
from devtools.workspace import Package

__all__ = ("local_index",)

_START_SECONDS = 30


@contextmanager
def local_index(dist: Path, core: Package) -> Iterator[str]:
    """Serve a release and a wheel of Spark while the block runs, and yield the address.

    Spark is published as sources only. Without the wheel, each installation downloads and builds
    450 MB.

    Args:
        dist: The folder of the release.
        core: The core, which requires Spark.

    Raises:
        ReleaseError: The server does not start, or the wheel cannot be built.
    """
    folders, log = [dist, _spark_wheel(core)], WORK / "index.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/simple/"
    command = [tool("pypi-server"), "run", "--interface", "127.0.0.1", "--port", port]
    command += ["--disable-fallback", "--hash-algo", "sha256", *folders]
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


def _spark_wheel(core: Package) -> Path:
    """Return the folder with a wheel of Spark, and build it if it is missing."""
    folder = WORK / "spark"
    (requirement,) = (each for each in core.dependencies if each.startswith("pyspark"))
    if not list(folder.glob("pyspark-*.whl")):
        with step(f"build a wheel of {requirement}"):
            pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            run([*pip, "--wheel-dir", folder, requirement], "pyspark")
    return folder


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
