"""`kstreams describe` shows a topology in each format, or its problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstreams_cli.loading import load_topology
from tests.support.cli.command_line import kstreams, say, words_module


@pytest.fixture(autouse=True)
def _words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words_module(tmp_path, monkeypatch, "words")


def test_describe_prints_the_formats_of_the_topology() -> None:
    topology = load_topology("words")
    assert say("describe", "words") == topology.describe()
    assert say("describe", "words", "--format", "mermaid") == topology.to_mermaid()
    assert say("describe", "words", "--format", "dot") == topology.to_dot()


def test_describe_writes_to_a_file(tmp_path: Path) -> None:
    result = kstreams("describe", "words", "--output", "out.txt")
    assert (result.stdout, result.stderr) == ("", "Wrote out.txt.\n")
    assert (tmp_path / "out.txt").read_text() == load_topology("words").describe()
    assert kstreams("describe", "words", "--output", "no/out.txt").exit_code == 2


def test_describe_shows_every_problem_of_a_topology(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("from kstreams import *\nb = TopologyBuilder('b')\n")
    result = kstreams("describe", "empty:b")
    assert result.exit_code == 1
    assert result.stderr.startswith("TopologyError: ")


def test_error_in_user_code_is_shown_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("\n\nx = 1 / 0\n")
    result = kstreams("describe", "broken")
    assert result.exit_code == 1
    assert result.stderr == (
        f"ZeroDivisionError: division by zero\nat {tmp_path}/broken.py, line 3, in <module>\n"
        "Hint: run the command with --debug to print the traceback.\n"
    )
    debug = kstreams("describe", "broken", "--debug")
    assert "Traceback (most recent call last)" in debug.stderr
    assert "Hint" not in debug.stderr


def test_describe_packages_lists_files_for_the_executors(tmp_path: Path) -> None:
    shop = tmp_path / "describeshop"
    (shop / ".git").mkdir(parents=True)
    for name in ("__init__.py", ".env", "server.pem"):
        (shop / name).write_bytes(b"#" * 1500)
    text = say("describe", "words", "--packages", "--package", "describeshop")
    assert text == (
        "describeshop: 1 file, 1.5 KB\n"
        "  describeshop/__init__.py  1.5 KB\n"
        "  left out: describeshop/.env  hidden\n"
        "  left out: describeshop/.git/  hidden\n"
        "  left out: describeshop/server.pem  keys or passwords, according to its name\n"
    )
    asked = say("describe", "words", "--packages", "--package", "describeshop:*.pem")
    assert "  describeshop/server.pem  1.5 KB\n" in asked
    found = say("describe", "words", "--packages")
    assert "\n  words.py  " in found
