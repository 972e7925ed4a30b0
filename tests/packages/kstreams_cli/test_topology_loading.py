"""The command line finds the user's topology, or suggests existing ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kstreams.errors import TopologyError
from kstreams_cli.loading import load_object, load_topology
from kstreams_cli.usage import WrongUsageError
from tests.support.cli.command_line import kstreams, say, words_module


@pytest.fixture(autouse=True)
def _words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words_module(tmp_path, monkeypatch, "words")


@pytest.mark.parametrize("target", ["words:topology", "words:build", "words", "words.py:build"])
def test_topology_is_loaded_by_its_name_or_as_only_one_of_its_module(target: str) -> None:
    assert load_topology(target).name == "word-count"


def test_topology_is_built_from_builder_object_of_module(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import words\nbuilder = words.build()\n")
    assert load_topology("other:builder").name == "word-count"


def test_topology_modules_in_folders_are_found(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "words.py").rename(tmp_path / "jobs" / "words.py")
    assert load_topology("jobs.words:build").name == "word-count"
    assert load_topology("jobs/words.py").name == "word-count"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("wrods", "there is no module 'wrods'; did you mean 'words'?"),
        ("nothing", "there is no module 'nothing' on the path or in"),
        ("words:topolgy", "module 'words' has no 'topolgy'; did you mean 'topology'?"),
        ("words:xyz", "module 'words' has no 'xyz'; topologies in the module: topology"),
        ("words:LINES", "words:LINES is Topic, expected a Topology, a TopologyBuilder"),
        ("words:CountWords", "words:CountWords is CountWords, expected a Topology"),
        ("json", "module 'json' has no variable with a topology or builder: give MODULE:NAME"),
        ("nofile.py", "file nofile.py does not exist below the current directory"),
        ("", "'' is not the name of a module"),
        (".words", "'.words' is not the name of a module"),
    ],
)
def test_missing_topology_name_suggests_existing_names(target: str, message: str) -> None:
    with pytest.raises(WrongUsageError) as raised:
        load_topology(target)
    assert str(raised.value).startswith(message)


def test_module_with_several_topologies_needs_name_of_one(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("import words\na = b = words.topology\n")
    with pytest.raises(
        WrongUsageError,
        match="has several topologies: give MODULE:NAME; topologies in the module: a, b",
    ):
        load_topology("two")


def test_topology_is_preferred_to_builder_of_same_module(tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(
        "import words\nbuilder = words.build()\na = builder.build()\n"
    )
    assert load_topology("both").name == "word-count"


def test_topology_function_with_arguments_is_usage_error(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def build(size): ...\ndef broken(): return 1 + 'a'\n")
    with pytest.raises(WrongUsageError, match="cannot be called without arguments"):
        load_topology("f:build")
    with pytest.raises(TypeError, match="unsupported operand"):
        load_topology("f:broken")


def test_error_of_user_code_is_raised_unchanged(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        load_topology("broken")
    (tmp_path / "wrong.py").write_text("raise ValueError('mine')\n")
    with pytest.raises(ValueError, match="mine"):
        load_topology("wrong")
    (tmp_path / "empty.py").write_text("from kstreams import *\nb = TopologyBuilder('b')\n")
    with pytest.raises(TopologyError):
        load_topology("empty:b")


def test_object_of_module_is_loaded_by_name() -> None:
    assert load_object("kstreams.serde:INT64.name") == "int64"
    with pytest.raises(WrongUsageError, match="is not MODULE:NAME"):
        load_object("kstreams.serde")


def test_serde_of_the_user_is_loaded_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from kstreams import INT64 as COUNT\nother = 3\n")
    say("topics", "create", "t", "-p", "1")
    say("topics", "produce", "t", "--value-serde", "mine:COUNT", given="5\n")
    shown = say("topics", "tail", "t", "--value-serde", "mine:COUNT")
    assert shown.endswith("\tnull\t5\n")
    assert kstreams("topics", "tail", "t", "--value-serde", "mine:other").exit_code == 2


def test_load_topology_adds_its_folder_to_pythonpath_of_workers(tmp_path: Path) -> None:
    load_topology("words")
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)


def test_describe_command_starts_no_jvm(tmp_path: Path) -> None:
    program = (
        "import sys; from kstreams_cli import main; sys.argv = ['kstreams', 'describe', 'words']\n"
        "try: main()\n"
        "except SystemExit as exc: sys.exit(exc.code or ('pyspark' in sys.modules and 9))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
