"""`kstreams run --serve`: a server process next to the app, which always ends with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kstreams import INT64, TEXT, key_value_store
from kstreams.errors import ServerUnavailableError, StoreError
from kstreams.views import RemoteView
from tests.support.cli.command_line import say, words_module

_TOKEN = "a-token-of-the-tests"
_PROGRAM = "from kstreams_cli import main; main()"
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_server_process_serves_and_ends_with_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words_module(tmp_path, monkeypatch, "words")
    for topic in ("lines", "totals"):
        say("topics", "create", topic, "-p", "2")
    say("topics", "produce", "lines", given="1\ta b a\n")
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "run", "words", "--serve", "0"],
        env={**os.environ, "KSTREAMS_SERVE_TOKEN": _TOKEN, "SPARK_LOCAL_IP": "127.0.0.1"},
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as app:  # fmt: skip
        try:
            assert app.stderr is not None
            said = ""
            while not (found := re.search(r"word-count at (http://127\.0\.0\.1:\d+)", said)):
                line = app.stderr.readline()
                assert line, said
                said += line
            assert _TOKEN not in Path(f"/proc/{_jvm_of(app.pid)}/environ").read_text()
            with RemoteView(found[1], COUNTS, token=_TOKEN) as view:
                until(lambda: view.get("a") == 2)
                os.kill(app.pid, signal.SIGKILL)
                with pytest.raises((ServerUnavailableError, StoreError)):
                    until(lambda: view.get("a") != 2)
        finally:
            os.killpg(app.pid, signal.SIGKILL)


def _jvm_of(pid: int) -> str:
    """Return the id of the Java process that a process has started."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(each for each in below if "java" in Path(f"/proc/{each}/cmdline").read_text())


def until(done: object) -> None:
    for _ in range(400):
        if done():  # type: ignore[operator]  # a function
            return
        time.sleep(0.05)
    raise AssertionError("the condition was not met within 20 s")
