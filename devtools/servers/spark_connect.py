"""A Spark Connect server as a process on loopback, from PySpark's own jars.

To run it by hand, from the root of the repository::

    python -m devtools.servers.spark_connect FOLDER

prints the address for `SparkSession.builder.remote(...)`.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from devtools.servers.process import Server, launch, launch_on_free_ports, say_and_wait
from devtools.spark_home import QUICK_JAVA, QUICK_JVMS
from kstreams.spark.startup.java import java_home

_START_S = 120.0
_STARTED = "Spark Connect server started at"
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
"""
_SETTINGS = {
    **QUICK_JVMS,
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": "true",
}


class SparkConnectServer(Server):
    """One server with its executors in the same process; also enter it as a context.

    Clients need the token in `url`. Python workers import the packages installed in this
    environment, and modules of a client's folder only if the folder is among `modules`.

    Args:
        folder: The folder of its log, and Spark's working directory.
        cores: The number of concurrent tasks.
        settings: Spark's settings, which override the defaults here.
        modules: Folders from which Python workers import.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cores: int = 2,
        settings: Mapping[str, str] | None = None,
        modules: Sequence[Path] = (),
    ) -> None:
        self._folder = folder
        self._master = f"local[{cores}]"
        self._settings = {**_SETTINGS, **(settings or {})}
        self._modules = modules
        self._token = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The address for a client, with its token; the same after a restart.

        The host is `localhost`: for any other name, a client sends a token only over TLS.
        """
        return f"sc://localhost:{self._port}/;token={self._token}"

    @property
    def log_file(self) -> Path:
        """The log of the server over all its starts."""
        return self._folder / "connect.log"

    @property
    def pid(self) -> int | None:
        """The process id; None while the server does not run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and running else None

    def start(self) -> SparkConnectServer:
        """Start, on the port of earlier starts, and wait until it listens."""
        if self.pid is not None:
            return self
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._port:
            self._start_on((self._port,))
        else:
            launch_on_free_ports(1, self._start_on, self.log_file)
        return self

    def stop(self) -> None:
        """Stop the process and its Python workers, if it runs."""
        self.kill()

    def kill(self) -> None:
        """Kill the server with SIGKILL, like a crash; its workers detect the loss."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            # The workers belong to its session; they would end by themselves, but later.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process = None

    def _start_on(self, ports: tuple[int, ...]) -> None:
        (self._port,) = ports
        logging = self._folder / "log4j2.properties"
        logging.write_text(_LOGGING)
        settings = {
            **self._settings,
            "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Dlog4j2.configurationFile={logging}",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.connect.authenticate.token": self._token,
        }
        (self._folder / "server.conf").write_text(
            "".join(f"{name} {value}\n" for name, value in settings.items())
        )
        (self._folder / "server.conf").chmod(0o600)
        starts = self._started()
        self._process = launch(
            "Spark Connect server",
            [*self._environment(), *self._command()],
            folder=self._folder,
            log=self.log_file,
            answers=lambda: self._started() > starts,
            within_s=_START_S,
        )

    def _started(self) -> int:
        """Return the number of its starts: another process may listen on its port."""
        return self.log_file.read_text().count(_STARTED) if self.log_file.exists() else 0

    def _environment(self) -> list[str]:
        """Return a command prefix that sets the server's environment variables."""
        return [
            "env",
            "-u",
            "SPARK_REMOTE",
            f"PYTHONPATH={os.pathsep.join(map(str, self._modules))}",
            f"SPARK_HOME={_spark_home()}",
            f"JAVA_HOME={java_home()}",
            f"PYSPARK_PYTHON={sys.executable}",
            "SPARK_LOCAL_IP=127.0.0.1",
        ]

    def _command(self) -> list[str]:
        return [
            str(_spark_home() / "bin" / "spark-submit"),
            "--master",
            self._master,
            "--properties-file",
            "server.conf",
            "--class",
            "org.apache.spark.sql.connect.service.SparkConnectServer",
            "spark-internal",
        ]


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def main() -> None:
    """Run a server until Ctrl-C, and print its address."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).absolute()
    with SparkConnectServer(folder) as server:
        say_and_wait(f"{server.url} pid {server.pid} in {folder}")


if __name__ == "__main__":
    main()
