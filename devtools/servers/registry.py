"""A real schema registry as a process on loopback, with Confluent's API.

Apicurio Registry with schemas in memory. Ivy downloads it into the library's cache at the first use
on a machine (109 MB). To run it by hand, from the root of the repository::

    python -m devtools.servers.registry FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from devtools.servers.ivy import Artifact, resolve
from devtools.servers.made_once import made_once
from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait
from kstreams.files import cache_folder
from kstreams.spark.startup.java import java_home

VERSION = "3.0.9"
"""The last version that runs on Java 17."""
_API = "/apis/ccompat/v7"
_START_S = 120.0
_STOP_S = 10.0


def registry_folder() -> Path:
    """Return the folder of the registry, downloading it at the first call on a machine."""
    servers = cache_folder() / "servers"
    unpacked = servers / f"apicurio-{VERSION}"
    if not unpacked.is_dir():
        program = Artifact("io.apicurio", "apicurio-registry-app", VERSION, "all", "tar.gz")
        (archive,) = resolve([program], servers / f"apicurio-{VERSION}-archive", transitive=False)
        made_once(unpacked, partial(_unpack, archive, unpacked))
    return unpacked


def _unpack(archive: Path, into: Path) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch, tarfile.open(archive) as content:
        content.extractall(scratch, filter="data")
        Path(scratch).rename(into)
        Path(scratch).mkdir()


class Registry(Server):
    """One registry, empty at each start; also enter it as a context.

    Args:
        folder: The folder of the log.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The URL of Confluent's API."""
        return f"http://127.0.0.1:{self._port}{_API}"

    @property
    def log_file(self) -> Path:
        """The log of the registry."""
        return self._folder / "registry.log"

    def start(self) -> Registry:
        """Start, and wait until the registry answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        launch_on_free_ports(2, self._start_on, self.log_file)
        return self

    def stop(self) -> None:
        """Stop the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_STOP_S)
            self._process = None

    def _start_on(self, ports: tuple[int, ...]) -> None:
        self._port, management = ports
        home = registry_folder()
        (jar,) = (*home.glob("quarkus-run.jar"), *home.glob("apicurio-registry-app-*-runner.jar"))
        options = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": self._port,
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": management,
            "quarkus.http.access-log.enabled": "false",
        }
        command = [str(java_home() / "bin" / "java"), "-Xmx384m", "-XX:+UseSerialGC"]
        command += ["-XX:TieredStopAtLevel=1", *(f"-D{k}={v}" for k, v in options.items())]
        self._process = launch(
            "registry",
            [*command, "-jar", str(jar)],
            folder=home,
            log=self.log_file,
            answers=self._answers,
            within_s=_START_S,
        )

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def main() -> None:
    """Run a registry until Ctrl-C, and print its address."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).absolute()
    with Registry(folder) as registry:
        say_and_wait(f"{registry.url} in {folder}")


if __name__ == "__main__":
    main()
