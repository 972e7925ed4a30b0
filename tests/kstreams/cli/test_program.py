"""The `kstreams` command as a whole: help, near names, missing extras."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from kstreams.cli.program import APPS, STATE, TOPICS
from tests.kstreams.cli.terminal import kstreams, say

COMMANDS = [
    *([name] for name in APPS),
    *(["topics", name] for name in TOPICS),
    *(["state", name] for name in STATE),
]


def test_version() -> None:
    assert say("--version").startswith(f"kstreams {version('kstreams-spark')} (PySpark ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(command: list[str]) -> None:
    shown = say(*command, "--help")
    assert f"kstreams {' '.join(command)}" in shown.split("Example", 1)[1]
    assert "--debug" in shown


def test_near_commands_are_suggested() -> None:
    result = kstreams("topics", "tial")
    assert result.exit_code == 2
    assert "Did you mean 'tail'?" in result.stderr


def test_a_command_imports_nothing_of_others() -> None:
    program = (
        "import sys\nfrom kstreams.cli.program import PROGRAM\n"
        "try: PROGRAM(['counts', 'missing'])\nexcept SystemExit: print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = found.stdout.split()
    assert "kstreams.cli.counts" in loaded
    others = {place.partition(":")[0] for place in (*APPS.values(), *TOPICS.values())} - {"counts"}
    assert not {f"kstreams.cli.{name}" for name in others} & {*loaded}


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_is_named(missing: str) -> None:
    program = f"import sys; sys.modules['{missing}'] = None; from kstreams.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert found.returncode == 1
    assert found.stderr == (
        "the command line needs typer and rich: pip install 'kstreams-spark[cli]'\n"
    )


def test_the_library_needs_no_extra_of_the_command_line() -> None:
    program = "import kstreams, sys; sys.exit('typer' in sys.modules or 'rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
