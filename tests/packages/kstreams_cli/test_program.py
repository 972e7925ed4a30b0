"""The `kstreams` command as a whole: help, similar names, missing extras."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints, version
from typing import Any

import pytest
import typer

from kstreams import plugins
from kstreams_cli.program import APPS, SHADOW, STATE, TOPICS
from tests.support.cli.command_line import kstreams, say

COMMANDS = [
    *([name] for name in APPS),
    *(["topics", name] for name in TOPICS),
    *(["state", name] for name in STATE),
    *(["shadow", name] for name in SHADOW),
]


def test_version_is_printed() -> None:
    assert say("--version").startswith(f"kstreams {version('kstreams-spark')} (PySpark ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(command: list[str]) -> None:
    shown = say(*command, "--help")
    assert f"kstreams {' '.join(command)}" in shown.split("Example", 1)[1]
    assert "--debug" in shown


@pytest.fixture
def offered_command(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Register a command `greet` of an installed package, and one with the name of a built-in
    command.
    """
    points = EntryPoints(
        EntryPoint(name, f"{__name__}:greet", "kstreams.commands") for name in ("greet", "run")
    )
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    plugins._found.cache_clear()
    yield
    plugins._found.cache_clear()


def greet(name: str) -> None:
    """Greet a person.

    Example: kstreams greet ann
    """
    typer.echo(f"hello {name}")


@pytest.mark.usefixtures("offered_command")
def test_command_of_an_installed_package_runs_and_has_help() -> None:
    assert say("greet", "ann") == "hello ann\n"
    assert "kstreams greet ann" in say("greet", "--help")
    assert "Greet a person." in say("--help")


@pytest.mark.usefixtures("offered_command")
def test_command_of_an_installed_package_does_not_replace_a_built_in_one() -> None:
    assert "Greet" not in say("run", "--help")


def test_unknown_command_suggests_similar_ones() -> None:
    result = kstreams("topics", "tial")
    assert result.exit_code == 2
    assert "Did you mean 'tail'?" in result.stderr


def test_command_imports_no_module_of_other_commands() -> None:
    program = (
        "import sys\nfrom kstreams_cli.program import PROGRAM\n"
        "try: PROGRAM(['counts', 'missing'])\nexcept SystemExit: print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = found.stdout.split()
    assert "kstreams_cli.counts" in loaded
    others = {place.partition(":")[0] for place in (*APPS.values(), *TOPICS.values())} - {"counts"}
    assert not {f"kstreams_cli.{name}" for name in others} & {*loaded}


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_missing_package_error_names_extra_to_install(missing: str) -> None:
    program = f"import sys; sys.modules['{missing}'] = None; from kstreams_cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert found.returncode == 1
    assert found.stderr == (
        "the command line needs typer and rich: pip install 'kstreams-spark[cli]'\n"
    )


def test_library_can_be_imported_without_command_line_extra() -> None:
    program = "import kstreams, sys; sys.exit('typer' in sys.modules or 'rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
