"""`kstreams serve`: refused options, and a process that serves and ends on a signal."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kstreams_serve.server import Server
from kstreams_serve.settings import Limits
from tests.support.apps.committing_app import Committing
from tests.support.apps.counts_store import COUNTS
from tests.support.cli.command_line import kstreams

_TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bind", "8080"), "is not HOST:PORT"),
        (("--bind", "0.0.0.0:0"), "without TLS"),
        (("--token-file", "none"), "cannot be read"),
        (("--token-file", "tokens", "--allow-actions"), "no token has the role act"),
        (("--forwarded-allow-ips", "10.0.0.1,*"), "neither an address nor a network"),
        (("--limit", "connections"), "is not name=value"),
        (("--limit", "connection=5"), "there is no limit 'connection'"),
        (("--limit", "connections=0"), "expected a positive number"),
        (("--limit", "connections=1.5"), "expected a number"),
        (("--limit", "read_seconds=nan"), "expected a positive number"),
    ],
)
def test_serve_refuses_unsafe_options(options: tuple[str, ...], said: str) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    Path("tokens").touch(0o600)
    Path("tokens").write_text(f"data {_TOKEN}\n")
    found = kstreams("serve", "c", *options)
    assert (found.exit_code, said in " ".join(found.stderr.split())) == (2, True)


@pytest.mark.parametrize(
    "options", [("nosuch",), ("c", "nosuch"), ("c", "c"), ("c", "--bind", "192.0.2.1:1")],
    ids=["no checkpoint", "one of two", "the same twice", "no such address"],
)  # fmt: skip
def test_failed_start_of_server_shows_no_token(options: tuple[str, ...]) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    found = kstreams("serve", *options, *(("--behind-proxy",) if "--bind" in options else ()))
    assert found.exit_code != 0
    assert not re.search(r"token \S{20}", found.stderr)


def test_new_token_is_shown_when_the_server_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSTREAMS_SERVE_TOKEN", raising=False)
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    seen: list[Limits] = []

    def run(server: Server, begun: Callable[[], object]) -> None:
        seen.append(server.context.limits)
        begun()
        server.socket.close()

    monkeypatch.setattr(Server, "run", run)
    found = kstreams("serve", "c", "--bind", "127.0.0.1:0", "--limit", "connections=7")
    assert (found.exit_code, seen[0].connections) == (0, 7)
    assert re.search(r"token \S{32}\nviewed at http", found.stderr)


@pytest.mark.slow
def test_server_runs_without_the_app_and_without_pyspark(tmp_path: Path) -> None:
    Committing(tmp_path / "c", COUNTS).put([("a", 1)])
    program = (
        "import sys; from kstreams_cli import main; import atexit;"
        "atexit.register(lambda: print('pyspark' in sys.modules));"
        f"sys.argv = ['kstreams', 'serve', {str(tmp_path / 'c')!r}, '--bind', '127.0.0.1:0'];"
        "main()"
    )
    environment = {**os.environ, "KSTREAMS_SERVE_TOKEN": _TOKEN}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert process.stdout is not None
        line = process.stderr.readline()
        port = re.search(r":(\d+)", line)
        assert port is not None, line
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=20)
        path = "/v1/apps/viewed/stores/counts/key?key=a"
        connection.request("GET", path, headers={"Authorization": f"Bearer {_TOKEN}"})
        assert b'"value": 1' in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)
        assert _TOKEN not in process.stderr.read()
        assert "True" not in process.stdout.read()


def test_server_of_an_app_exits_cleanly_while_its_input_is_open() -> None:
    program = "from kstreams_cli.serve import _end_with_input as end; end(); print(flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=-1, stdout=-1, stderr=-1
    ) as process:
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
