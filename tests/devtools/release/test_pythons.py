"""The Python versions that a release is tried on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from devtools.release.progress import ReleaseError
from devtools.release.pythons import VERSIONS, find_pythons
from devtools.workspace import core

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


def program(folder: Path, name: str, version: str) -> Path:
    """Write a program that claims to be a Python of a version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {version} {path}\n")
    path.chmod(0o755)
    return path


def test_versions_are_those_of_the_classifiers() -> None:
    prefix = "Programming Language :: Python :: "
    found = [each.removeprefix(prefix) for each in core().project["classifiers"]]

    assert tuple(each for each in found if each.startswith("3.")) == VERSIONS


def test_python_of_path_and_of_pyenv_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path = program(tmp_path / "bin", "python3.10", "3.10")
    program(tmp_path / "bin", "python3.11", "3.9")  # another version under this name
    in_pyenv = program(tmp_path / ".pyenv" / "versions" / "3.12.1" / "bin", "python", "3.12")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")

    assert find_pythons() == {"3.10": on_path, "3.12": in_pyenv}
    assert "no Python 3.11, 3.13 on this machine" in capsys.readouterr().out


def test_required_python_that_is_missing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ReleaseError, match=r"no Python 3\.13 with the module venv"):
        find_pythons(["3.13"])
