"""`kstreams new`: a project whose tests, checks and commands pass, and names that are refused."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from devtools.page_steps import Command, steps_of
from kstreams.errors import ExecutionError, InvalidNameError
from kstreams_cli import project_files
from kstreams_cli.project_files import ProjectExistsError, create_project, package_of
from tests.support.cli.command_line import kstreams, say
from tests.support.pages.reader import Reader, steady

FILES = [
    ".github/workflows/test.yml",
    ".gitignore",
    "README.md",
    "compose.yaml",
    "order_totals/__init__.py",
    "order_totals/sample.py",
    "order_totals/topology.py",
    "pyproject.toml",
    "tests/test_topology.py",
]
REFUSED = [
    *("", " ", "Shop", "1shop", "-shop", "shop-", "a--b", "a_b", "a.b", "a/b", "../a", "/tmp/a"),
    *("shöp", "shop\n", "--help-me", "x" * 65),
    *("class", "match", "json", "kstreams", "pyspark", "numpy", "tests", "data"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "order-totals"
    create_project("order-totals", directory)
    return directory


def checked(project: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_command_creates_all_files_and_prints_their_paths(tmp_path: Path) -> None:
    printed = say("new", "order-totals").splitlines()
    assert printed == [f"order-totals/{file}" for file in FILES]
    found = [path for path in (tmp_path / "order-totals").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(tmp_path / "order-totals")) for path in found) == FILES


def test_command_prints_the_next_commands(tmp_path: Path) -> None:
    result = kstreams("new", "order-totals")
    assert "$ kstreams run order_totals.topology --engine embedded --until end" in result.stderr


def test_files_of_a_project_have_no_placeholders(project: Path) -> None:
    for path in project.rglob("*"):
        assert "PACKAGE" not in path.name
        if path.is_file():
            assert not re.search("@[A-Z]+@", path.read_text()), path


@pytest.mark.slow
def test_tests_of_a_project_pass(project: Path) -> None:
    assert "3 passed" in checked(project, "pytest", "-q")


@pytest.mark.slow
def test_linter_and_formatter_accept_a_project(project: Path) -> None:
    checked(project, "ruff", "check", ".")
    checked(project, "ruff", "format", "--check", ".")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_type_checker_accepts_a_project(project: Path, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    checked(project, "mypy", "--cache-dir", str(pytestconfig.cache.mkdir("mypy-of-a-project")))


@pytest.mark.slow
def test_run_commands_of_the_readme_print_the_shown_lines(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (project / "README.md").read_text()
    section = re.search(r"^## Run\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    assert section is not None
    (project / "run.md").write_text(section[1])
    monkeypatch.chdir(project)
    with closing(Reader(project)) as reader:
        commands = [step for step in steps_of(project / "run.md") if isinstance(step, Command)]
        assert len(commands) == 3
        for step in commands:
            assert steady(reader.type(step.line)) == steady(step.shown), step.line


def test_new_project_has_compose_file_with_kafka_and_workflow_with_checks(project: Path) -> None:
    compose: Any = yaml.safe_load((project / "compose.yaml").read_text())
    assert compose["services"]["kafka"]["ports"] == ["127.0.0.1:9092:9092"]
    workflow: Any = yaml.safe_load((project / ".github/workflows/test.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    assert runs[0] == "pip install -e '.[dev]'"
    assert runs[-2:] == ["mypy", "pytest"]


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_name_is_refused_with_a_hint_and_creates_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        create_project(name, tmp_path / "new")
    assert caught.value.name == name
    assert caught.value.hint
    assert not list(tmp_path.iterdir())


@given(name=st.one_of(st.text(max_size=10), st.from_regex(r"[a-z0-9-]{1,70}", fullmatch=True)))
def test_accepted_name_is_one_folder_and_an_identifier(name: str) -> None:
    try:
        project_files._check(name)
    except InvalidNameError:
        return
    assert Path(name).name == name
    assert package_of(name).isidentifier()


def test_command_shows_error_and_hint_of_an_invalid_name() -> None:
    result = kstreams("new", "Shop")
    assert result.exit_code == 1
    assert "InvalidNameError: 'Shop' is not a valid project name" in result.stderr
    assert "Hint: lowercase letters" in result.stderr


@pytest.mark.parametrize("kind", ["directory", "file", "dangling link"])
def test_existing_path_is_refused_and_stays_unchanged(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "shop"
    if kind == "directory":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(tmp_path / "missing")
    with pytest.raises(ProjectExistsError, match="exists"):
        create_project("shop", path)
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["shop"]
    assert kind != "file" or path.read_text() == "mine"


def test_failed_creation_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = Path.write_text, list[Path]()

    def full(path: Path, *arguments: Any, **options: Any) -> int:
        written.append(path)
        if len(written) > 3:
            raise OSError("no space left on device")
        return real(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ExecutionError, match="no space left") as caught:
        create_project("shop", tmp_path / "shop")
    assert "free space" in caught.value.hint
    assert not (tmp_path / "shop").exists()


def test_missing_parent_directory_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="cannot create project 'shop'") as caught:
        create_project("shop", tmp_path / "missing" / "shop")
    assert "current directory" in caught.value.hint


@pytest.mark.parametrize("signal", [KeyboardInterrupt, MemoryError])
def test_interrupted_creation_leaves_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal: type[BaseException]
) -> None:
    def interrupt(*_: object, **__: object) -> int:
        raise signal

    monkeypatch.setattr(Path, "write_text", interrupt)
    with pytest.raises(signal):
        create_project("shop", tmp_path / "shop")
    assert not (tmp_path / "shop").exists()
