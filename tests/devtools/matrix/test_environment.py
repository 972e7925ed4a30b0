"""The environments of the matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from devtools.matrix import environment
from devtools.matrix.cells import PYSPARKS, locked_pyspark
from devtools.matrix.environment import (
    Environment,
    UnavailableError,
    constraints,
    prepare,
    supported,
)
from devtools.matrix.programs import Ended
from devtools.release.progress import ReleaseError
from devtools.workspace import ROOT

SERIES = ".".join(locked_pyspark().split(".")[:2])


class Programs:
    """Records programs instead of running them; a program fails if its command has a text."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.failing = "none"

    def run(self, command: Sequence[str | Path], *_: object, **options: object) -> Ended:
        text = " ".join(map(str, command))
        self.commands.append(f"{text} {options.get('variables')}")
        if self.failing in text:
            return Ended(1, "  \u00d7 No solution found\n  ╰─▶ the index has none.\n", 1.0)
        return Ended(0, "3.12.1 4.1.3 22.0.0\n6.33.6 17.0.15\n", 1.0)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs()
    monkeypatch.setattr(environment, "run", found.run)
    monkeypatch.setattr(environment, "find_pythons", lambda chosen: {chosen[0]: Path("/python")})
    monkeypatch.setattr(environment, "WORK", tmp_path)
    return found


def test_constraints_are_locked_versions_without_pyspark_and_hashes() -> None:
    lock = (
        "a==1 \\\n    --hash=sha256:0\n"
        "b==2 ; python_full_version < '3.11' \\\n    --hash=sha256:1\n"
        "py4j==0.10 \\\n    --hash=sha256:2\npyspark==4.1.3 \\\n    --hash=sha256:3\n"
        "pyspark-client==4.1.3\n"
    )

    assert constraints(lock) == (
        "a==1\nb==2 ; python_full_version < '3.11'\npyspark-client==4.1.3\n"
    )


def test_constraints_omit_packages_that_are_free() -> None:
    assert constraints("a==1\na-b==2\nb==3\n", ["a"]) == "a-b==2\nb==3\n"


def test_supported_range_is_that_of_the_project() -> None:
    assert supported("pyarrow").startswith("pyarrow>=")
    assert supported("protobuf").startswith("protobuf>=")


def test_constraints_have_each_line_of_the_lock() -> None:
    lock = (ROOT / "requirements" / "lock.txt").read_text()

    pins = [line for line in lock.splitlines() if line[:1].strip()]
    assert len(constraints(lock).splitlines()) == len(pins) - 2


def test_locked_pyspark_is_installed_by_setup_alone(programs: Programs, tmp_path: Path) -> None:
    assert prepare("3.12", SERIES) == Environment(
        tmp_path / f"3.12-{SERIES}" / "bin" / "python",
        "3.12.1",
        "4.1.3",
        "22.0.0",
        "6.33.6",
        "17.0.15",
    )

    setup, _ = programs.commands
    assert setup.startswith(f"/python {ROOT}/scripts/setup.py")
    assert f"'KSTREAMS_VENV': '{tmp_path / f'3.12-{SERIES}'}'" in setup


def test_other_pyspark_replaces_the_locked_one(programs: Programs, tmp_path: Path) -> None:
    prepare("3.12", "9.9")

    _, replace, _ = programs.commands
    assert replace.endswith("pyspark==9.9.* None")
    assert f"--constraints {tmp_path / 'constraints.txt'}" in replace
    assert "pyspark==" not in (tmp_path / "constraints.txt").read_text()


def test_last_series_of_pyspark_has_newest_pyarrow_and_protobuf(
    programs: Programs, tmp_path: Path
) -> None:
    prepare("3.12", PYSPARKS[-1])

    _, replace, _ = programs.commands
    assert "--upgrade-package pyarrow --upgrade-package protobuf" in replace
    assert f" {supported('pyarrow')} {supported('protobuf')} " in replace
    assert "pyarrow" not in (tmp_path / "constraints.txt").read_text()


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        ("setup.py", "cannot install the locked packages on Python 3.12: No solution found"),
        ("pyspark==9.9", "cannot install pyspark 9.9 on Python 3.12: No solution found the index"),
        ("pyspark.__version__", "cannot install pyspark: No solution found"),
    ],
)
def test_environment_error_of_failed_installation_has_the_output(
    programs: Programs, failing: str, reason: str
) -> None:
    programs.failing = failing

    with pytest.raises(UnavailableError) as caught:
        prepare("3.12", "9.9")

    assert str(caught.value).startswith(reason)


def test_environment_error_of_missing_python_states_the_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: Sequence[str]) -> dict[str, Path]:
        raise ReleaseError("none")

    monkeypatch.setattr(environment, "find_pythons", missing)

    with pytest.raises(UnavailableError, match=r"^Python 3\.14 is not installed on this machine$"):
        prepare("3.14", SERIES)


def test_programs_of_environment_get_its_path_in_virtual_env_variable() -> None:
    variables = Environment(Path("/env/bin/python"), "", "").variables

    assert variables["VIRTUAL_ENV"] == "/env"
    assert sys.executable not in variables.values()
