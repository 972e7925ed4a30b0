"""The playground as processes on loopback: the servers of tests, and the programs of deploy/."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from devtools.playground.addresses import FOLDER, PROGRAMS, Addresses
from devtools.servers.debian import debian_root
from devtools.servers.kafka import KafkaBroker
from devtools.servers.ports import free_ports
from devtools.servers.postgres import PostgresServer
from devtools.servers.process import NoServerError, launch
from devtools.servers.registry import Registry
from devtools.servers.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from devtools.workspace import ROOT

__all__ = ("TOKEN", "LocalPlayground")

TOKEN = "playground-token-of-this-machine"
_STOP_S = 30.0
_START_S = 120.0


class LocalPlayground:
    """The servers and programs of compose.yaml, without Grafana, as processes of this machine.

    Args:
        engine: The engine of the app.
        lines: The number of lines to write; 0 writes a line per second until the end.
        prometheus: Whether to run Prometheus, from Debian's package.
        folder: The folder for the logs and the addresses.
    """

    def __init__(
        self,
        *,
        engine: Literal["spark", "embedded"] = "spark",
        lines: int = 0,
        prometheus: bool = False,
        folder: Path = FOLDER,
    ) -> None:
        self._engine = engine
        self._lines = lines
        self._prometheus = prometheus
        self._folder = folder
        self.addresses = Addresses(folder)
        self._stack = ExitStack()
        self._app: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._variables: dict[str, str] = {}
        self.places: dict[str, str] = {}
        """The URLs of the pages and servers, by name."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of the programs."""
        return {**os.environ, **self._variables}

    def __enter__(self) -> LocalPlayground:
        with self._stack:
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def watch(self) -> None:
        """Start the app and its server if they have ended; stop the app while that is requested."""
        stopped = self.addresses.is_stop_requested()
        if stopped and self._app is not None:
            self._end_app()
            self.addresses.confirm_stop()
        elif not stopped and (self._app is None or self._app.poll() is not None):
            self._app = self._launch("count_words.py")
        if self._server is None or self._server.poll() is not None:
            self._server = self._launch_server()

    def run(self, program: str) -> str:
        """Run a program of deploy/playground, and return its output.

        Raises:
            RuntimeError: The program fails.
        """
        done = subprocess.run(
            [sys.executable, str(PROGRAMS / program)],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kstreams-")))
        broker = self._stack.enter_context(KafkaBroker(scratch / "kafka"))
        storage = self._stack.enter_context(S3Server(scratch / "s3"))
        database = self._stack.enter_context(PostgresServer())
        registry = self._stack.enter_context(Registry(scratch / "registry"))
        programs = Path(sys.executable).parent
        self._variables = {
            "KAFKA": broker.bootstrap,
            "KSTREAMS_BOOTSTRAP": broker.bootstrap,
            "REGISTRY": registry.url,
            "POSTGRES": database.url,
            "CHECKPOINT": "s3://playground/word-count",
            "AWS_ENDPOINT_URL": storage.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
            "ENGINE": self._engine,
            "LIMIT": str(self._lines),
            "PYTHONPATH": str(PROGRAMS),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "KSTREAMS_SERVE_TOKEN": TOKEN,
        }
        self.places = {"Kafka": broker.bootstrap, "PostgreSQL": database.url, "S3": storage.url}
        self.places["schema registry"] = registry.url
        self.run("set_up.py")
        self.addresses.write(self._variables)
        self._stack.callback(self.addresses.remove)
        pages, metrics = free_ports(2)
        self._variables["SERVE"] = f"http://127.0.0.1:{pages}"
        self.places["pages of the app"] = f"{self._variables['SERVE']} (token {TOKEN})"
        self._stack.callback(self._end_app)
        self._stack.callback(self._end_server)
        self.watch()
        feed = self._launch("feed.py")
        self._stack.callback(_end, feed)
        if self._prometheus:
            self._watch_metrics(scratch, metrics)

    def _launch_server(self) -> subprocess.Popen[bytes]:
        """Start `kstreams serve`, which ends while the app has no checkpoint yet."""
        program = str(Path(sys.executable).parent / "kstreams")
        command = [program, "serve", self._variables["CHECKPOINT"]]
        command += ["--topology=count_words:topology", "--connection=count_words:TOPICS"]
        command += [f"--bind={self._variables['SERVE'].removeprefix('http://')}"]
        return self._spawn(command, "serve")

    def _watch_metrics(self, scratch: Path, port: int) -> None:
        try:
            found = shutil.which("prometheus")
            program = found or str(debian_root("prometheus") / "usr" / "bin" / "prometheus")
        except NoServerError as exc:
            self.places["Prometheus"] = f"not here: {exc}"
            return
        place = f"http://127.0.0.1:{port}"
        config = (PROGRAMS / "prometheus.yml").read_text()
        rules = ROOT / "deploy" / "monitoring" / "kstreams.rules.yml"
        config = config.replace("/etc/prometheus/kstreams.rules.yml", str(rules))
        served = self._variables["SERVE"].removeprefix("http://")
        file = scratch / "prometheus.yml"
        file.write_text(config.replace("serve:8080", served))
        options = [f"--config.file={file}", f"--storage.tsdb.path={scratch / 'metrics'}"]
        process = launch(
            "Prometheus",
            [program, *options, f"--web.listen-address=127.0.0.1:{port}"],
            folder=scratch,
            log=self._folder / "prometheus.log",
            answers=lambda: _answers(f"{place}/-/ready"),
            within_s=_START_S,
        )
        self._stack.callback(_end, process)
        self.places["Prometheus"] = place

    def _launch(self, program: str) -> subprocess.Popen[bytes]:
        return self._spawn([sys.executable, str(PROGRAMS / program)], Path(program).stem)

    def _spawn(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as file:
            return subprocess.Popen(
                command,
                env=self.variables,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def _end_server(self) -> None:
        if self._server is not None:
            _end(self._server)

    def _end_app(self) -> None:
        if self._app is not None:
            _end(self._app)
            self._app = None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process gracefully, or kill it if it takes too long."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except (urllib.error.URLError, OSError):
        return False
    return True
