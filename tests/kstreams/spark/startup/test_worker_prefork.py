"""Spark's worker daemons are forked from a prepared process, or start normally."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kstreams.spark.startup import worker_prefork
from kstreams.spark.startup.session_settings import session_settings
from kstreams.spark.startup.worker_prefork import prefork_settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nurseries are for Linux")

_PLACE = "spark.executorEnv.KSTREAMS_PREFORK"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The socket path of a prefork process."""
    for name in os.environ:
        if name.startswith(("SPARK_", "PYSPARK_", "JAVA_TOOL", "JDK_JAVA")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(worker_prefork, "_running", None)
    settings = session_settings({})
    made = prefork_settings(settings)
    begun = worker_prefork._running
    assert begun is not None
    assert prefork_settings(settings) == made
    yield Path(made[_PLACE])
    assert begun.process.stdin is not None
    begun.process.stdin.close()
    assert begun.process.wait(30) == 0


def daemon_at(place: Path, tmp_path: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start a daemon like Spark, with the environment variables that Spark sets."""
    return subprocess.Popen(
        [sys.executable, "-m", "kstreams_daemon", "pyspark.worker"],
        env={
            **os.environ,
            "KSTREAMS_PREFORK": str(place),
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHON_UNIX_DOMAIN_ENABLED": "true",
            "PYTHON_WORKER_FACTORY_SOCK_DIR": str(
                place.parent
            ),  # socket paths are limited in length
            **variables,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )


def wait_for_worker(process: subprocess.Popen[bytes]) -> int:
    """Connect like Spark; return the worker's process id."""
    assert process.stdout is not None
    size = int.from_bytes(process.stdout.read(4), "big")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(process.stdout.read(size).decode())
        return int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.long
def test_prefork_process_forks_daemons_and_ignores_invalid_messages(
    place: Path, tmp_path: Path
) -> None:
    assert worker_prefork._running is not None
    assert place.parent.stat().st_mode & 0o077 == 0
    for noise in (b"", b"\xff\xff\xff\xff", b"\0\0\0\2{]"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(place))
            sock.sendall(noise)
    ended, killed = (daemon_at(place, tmp_path) for _ in range(2))
    for each in (ended, killed):
        daemon = parent(wait_for_worker(each))
        assert parent(daemon) == worker_prefork._running.process.pid
        assert Path(f"/proc/{daemon}/cwd").resolve() == tmp_path
        assert "PYTHON_WORKER_FACTORY_SOCK_DIR" not in os.environ
    killed.send_signal(signal.SIGTERM)
    for each in (ended, killed):
        each.communicate(timeout=30)  # closes its input, like Spark's end
        assert each.returncode == 0
    while list(place.parent.glob(".*.sock")):  # the prefork process removes its socket
        time.sleep(0.01)


@pytest.mark.long
@pytest.mark.parametrize("variables", [{"OMP_NUM_THREADS": "3"}, {"KSTREAMS_PREFORK": "/none"}])
def test_worker_daemon_with_other_settings_is_started_without_prefork(
    place: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    process = daemon_at(place, tmp_path, **variables)
    assert parent(wait_for_worker(process)) == process.pid
    process.communicate(timeout=30)


@pytest.mark.long
def test_prefork_process_ends_with_its_driver() -> None:
    program = (
        "from kstreams.spark.startup import worker_prefork as n\n"
        "from kstreams.spark.startup.session_settings import session_settings\n"
        "n.prefork_settings(session_settings({}))\n"
        "print(n._running.process.pid, n._running.place, flush=True)\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    names = ("SPARK_", "PYSPARK_", "JAVA_TOOL", "JDK_JAVA")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={k: v for k, v in os.environ.items() if not k.startswith(names)},
        capture_output=True,
        text=True,
        check=False,
    )
    pid = done.stdout.split()[0]
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("config", "environment"),
    [
        ({"spark.python.daemon.module": "mine"}, {}),
        ({"spark.python.use.daemon": "false"}, {}),
        ({"spark.master": "spark://host:7077"}, {}),
        ({}, {"PYSPARK_PYTHON": "/usr/bin/other"}),
        ({}, {"SPARK_HOME": "/opt/spark"}),
    ],
)
def test_session_with_other_settings_has_no_prefork_process(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, str], environment: dict[str, str]
) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(worker_prefork, "_running", None)
    assert prefork_settings(session_settings(config)) == {}
    assert worker_prefork._running is None
