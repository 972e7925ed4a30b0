"""Detection and shipping of the user's own modules."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kstreams.batch.package_files import own_packages
from kstreams.errors import CompileError
from kstreams.spark.packages import ship


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "user_package" / "deep").mkdir(parents=True)
    (tmp_path / "user_package" / "__init__.py").write_text("")
    (tmp_path / "user_package" / "deep" / "data.txt").write_text("x")
    (tmp_path / "user_namespace").mkdir()
    (tmp_path / "user_namespace" / "part.py").write_text("")
    (tmp_path / "user_module.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    for name in ("user_package", "user_namespace.part", "user_module"):
        importlib.import_module(name)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("user_")]:
        del sys.modules[name]


class _Context:
    def __init__(self) -> None:
        self.archives: list[str] = []

    def addArchive(self, path: str) -> None:  # noqa: N802  # Spark's name
        self.archives.append(path)


class _Session:
    def __init__(self) -> None:
        self.sparkContext = _Context()


def _shipped(session: Any) -> set[str]:
    path, _, _ = session.sparkContext.archives[0].partition("#")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_own_packages_excludes_standard_library_and_installed_packages(project: Path) -> None:
    found = set(own_packages())
    assert {"user_package", "user_namespace", "user_module"} <= found
    assert not found & {
        "os",
        "json",
        "pyspark",
        "pandas",
        "numpy",
        "pytest",
        "kstreams",
        "__main__",
    }
    assert not found & set(sys.builtin_module_names)


def test_shipped_modules_can_be_imported(project: Path) -> None:
    session: Any = _Session()
    (name,) = ship(session, ["user_package", "user_namespace", "user_module"])
    assert session.sparkContext.archives[0].endswith(f"#{name}")
    assert _shipped(session) == {
        "user_package/__init__.py",
        "user_package/deep/data.txt",
        "user_namespace/part.py",
        "user_module.py",
    }


def test_modules_can_be_given_by_name(project: Path) -> None:
    session: Any = _Session()
    ship(session, [sys.modules["user_package"]])
    assert _shipped(session) == {"user_package/__init__.py", "user_package/deep/data.txt"}


@pytest.mark.parametrize("by_name", [True, False])
def test_submodule_ships_its_package(project: Path, by_name: bool) -> None:
    session: Any = _Session()
    ship(session, ["user_namespace.part" if by_name else sys.modules["user_namespace.part"]])
    assert _shipped(session) == {"user_namespace/part.py"}


def test_user_module_named_kstreams_something_is_an_own_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kstreams_orders.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "kstreams_orders", importlib.import_module("kstreams_orders"))
    importlib.import_module("kstreams_rocksdb")
    assert {"kstreams_orders"} == {n for n in own_packages() if n.startswith("kstreams")}


def test_archives_of_different_contents_have_different_names(project: Path) -> None:
    session: Any = _Session()
    names = [ship(session, [name]) for name in ("user_module", "user_package", "user_module")]
    assert names[0] == names[2] != names[1]


def test_files_older_than_zip_epoch_are_shipped(project: Path) -> None:
    os.utime(project / "user_module.py", (0, 0))
    session: Any = _Session()
    ship(session, ["user_module"])
    assert _shipped(session) == {"user_module.py"}


def test_builtin_module_without_files_is_rejected() -> None:
    session: Any = _Session()
    with pytest.raises(CompileError, match="no files"):
        ship(session, ["sys"])


def test_archive_above_size_limit_is_rejected(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "user_package" / "big").write_bytes(b"x" * 2_000)
    monkeypatch.setattr("kstreams.spark.package_archive._MAX_BYTES", 1_000)
    session: Any = _Session()
    with pytest.raises(CompileError, match="user_package") as caught:
        ship(session, ["user_package"])
    assert "packages=" in caught.value.hint
    assert session.sparkContext.archives == []


def test_unknown_package_raises_typed_error() -> None:
    session: Any = _Session()
    with pytest.raises(CompileError, match="no_such_package"):
        ship(session, ["no_such_package"])


def test_nothing_is_shipped_without_own_modules() -> None:
    session: Any = _Session()
    assert ship(session, []) == ()
    assert session.sparkContext.archives == []


def test_shipped_and_left_out_files_are_logged(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (".env", "key.pem"):
        (project / "user_package" / name).write_text("hunter2")
    session: Any = _Session()
    with caplog.at_level("INFO", "kstreams"):
        ship(session, ["user_package"])
    assert _shipped(session) == {"user_package/__init__.py", "user_package/deep/data.txt"}
    goes, stays = caplog.messages
    assert goes == "package user_package goes to executors: 2 files, 0.0 kB"
    assert stays == (
        "left out: user_package/.env (hidden), "
        "user_package/key.pem (keys or passwords, according to its name)"
    )


def test_archives_are_deleted_with_process_that_made_them(project: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from tests.kstreams.spark.test_packages import _Session;"
        "from kstreams.spark.packages import ship; session = _Session();"
        "ship(session, ['user_module']); ship(session, ['user_module']);"
        "print(session.sparkContext.archives[0].partition('#')[0])"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    path = os.pathsep.join([str(project), str(Path(__file__).parents[3])])
    env = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(temporary))
    assert list(temporary.iterdir()) == []
