"""`kstreams serve`: what it refuses, and a process that answers and ends when it is asked to."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kstreams.cli.terminal import kstreams
from tests.kstreams.views.committing import Committing
from tests.kstreams.views.counted import COUNTS

_TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bind", "8080"), "is no HOST:PORT"),
        (("--bind", "0.0.0.0:0"), "without TLS"),
        (("--token-file", "none"), "cannot be read"),
        (("--token-file", "tokens", "--allow-actions"), "no token has the role act"),
    ],
)
def test_what_would_be_open_is_refused(options: tuple[str, ...], said: str) -> None:
    Committing(Path("c").absolute(), COUNTS).put([("a", 1)])
    Path("tokens").touch(0o600)
    Path("tokens").write_text(f"data {_TOKEN}\n")
    found = kstreams("serve", "c", *options)
    assert (found.exit_code, said in " ".join(found.stderr.split())) == (2, True)


@pytest.mark.slow
def test_it_answers_without_the_app_and_without_pyspark(tmp_path: Path) -> None:
    Committing(tmp_path / "c", COUNTS).put([("a", 1)])
    program = (
        "import sys; from kstreams.cli import main; import atexit;"
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
