"""A reader of a page, who saves its files and types its commands in an empty folder."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from devtools.page_steps import File
from tests.support.cli.command_line import kstreams

__all__ = ("Reader", "steady")

_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\S+ (INFO|WARNING) ")
_VARIES = re.compile(r"\b20\d\d-\d\d-\d\dT[\d:.]+Z|\b\d+\.\d+ s\b|\b\d+ bytes\b")
_SHOWN_FOLDER = "/home/ann/shop"
_SHOWN_ADDRESS = "localhost:8080"
_PROGRAM = "from kstreams_cli import main; main()"


def steady(lines: Iterable[str]) -> list[str]:
    """Replace the parts that differ from run to run: times of today, durations, sizes."""
    return [_VARIES.sub("...", line) for line in lines]


class Reader:
    """A reader of a page; `close` ends the server that the reader has started.

    Commands run in this process if possible, because a new process imports the library again.

    Args:
        folder: The folder, which is the current directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._code = 0
        self._variables: dict[str, str] = {}
        self._server: subprocess.Popen[str] | None = None
        self._address = _SHOWN_ADDRESS

    def save(self, file: File) -> None:
        """Save a file of the page."""
        (self._folder / file.name).write_text(self._real(file.text))

    def type(self, line: str) -> list[str]:
        """Run a command, and return the lines that it prints, without those of logs.

        A command that ends with `&` is a server; the page shows its address as localhost:8080.
        """
        if line == "echo $?":
            return [str(self._code)]
        program, *arguments = shlex.split(line)
        if program == "pip":
            return []  # is installed
        if program == "export":
            self._variables |= dict(each.split("=", 1) for each in arguments)
            return []
        if arguments[-1:] == ["&"]:
            self._serve(arguments[:-1])
            return []
        if program == "kstreams":
            printed = self._kstreams(arguments)
        elif program == "python" and len(arguments) == 1:
            printed = self._program(arguments[0])
        else:
            printed = self._shell(line)
        return [each.replace(str(self._folder), _SHOWN_FOLDER) for each in printed]

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.kill()
            self._server.communicate()

    def _real(self, text: str) -> str:
        return text.replace(_SHOWN_ADDRESS, self._address)

    def _kstreams(self, arguments: list[str]) -> list[str]:
        with _modules_of(self._folder):
            result = kstreams(*arguments)
        self._code = result.exit_code
        assert result.exit_code == 0 or arguments[0] in ("plan", "shadow"), result.output
        lines = [line.rstrip() for line in result.output.splitlines()]
        return [line for line in lines if not _LOGGED.match(line)]

    def _program(self, file: str) -> list[str]:
        output = StringIO()
        with _modules_of(self._folder), redirect_stdout(output):
            runpy.run_path(file, run_name="__main__")
        return output.getvalue().splitlines()

    def _shell(self, line: str) -> list[str]:
        """Run a command in a shell; of pytest, return only the number of passed tests."""
        done = subprocess.run(
            ["bash", "-c", self._real(line)],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines = done.stdout.splitlines()
        return [re.sub(r" in [\d.]+s$", "", lines[-1])] if " pytest " in line else lines

    def _serve(self, arguments: list[str]) -> None:
        command = [sys.executable, "-c", _PROGRAM, *arguments, "--bind", "127.0.0.1:0"]
        environment = self._environment()
        self._server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert self._server.stderr is not None
        for line in self._server.stderr:
            found = re.search(r"http://(127\.0\.0\.1:\d+)", line)
            if found:
                self._address = found[1]
                return
        raise AssertionError(f"{command} printed no address")

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "COLUMNS": "100", **self._variables}


@contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Import modules from a folder, as a process that starts there; forget them at the end."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]
