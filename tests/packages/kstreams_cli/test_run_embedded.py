"""`kstreams run --engine embedded` as a separate process, without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli.command_line import say, words_module

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

KSTREAMS = [sys.executable, "-c", "from kstreams_cli import main; main()"]


def test_embedded_engine_without_java_counts_words_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words_module(tmp_path, monkeypatch, "words")
    for topic in ("lines", "totals"):
        say("topics", "create", topic, "-p", "2")
    without_java = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / "none")}
    for given in ("1\ta b a\n", "2\tb a\n"):
        say("topics", "produce", "lines", given=given)
        command = [*KSTREAMS, "run", "words", "--until", "end", "--engine", "embedded"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=without_java
        )
        assert done.returncode == 0, done.stderr
        assert "app word-count: stopped after" in done.stderr
    lines = say("topics", "tail", "totals", "--value-serde", "int64").splitlines()
    totals = sorted((line.split("\t")[3], int(line.split("\t")[4])) for line in lines)
    assert totals == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
