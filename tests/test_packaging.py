"""The package list, the entry points and the wheel agree with the folders."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("packages", "connectors", "stores", "serdes")


def packages() -> list[str]:
    """Return the paths of all packages in the wheel."""
    plugins = [p for d in FOLDERS for p in sorted((ROOT / d).iterdir()) if p.is_dir()]
    return [
        "kstreams",
        "kstreams_daemon",
        *(str(p.relative_to(ROOT)) for p in plugins if p.name != "__pycache__"),
    ]


def test_pyproject_lists_every_package() -> None:
    text = "".join((ROOT / "pyproject.toml").read_text().split()).replace(",]", "]")

    assert f"packages={packages()}".replace("'", '"').replace(" ", "") in text


@pytest.mark.parametrize("package", packages())
def test_package_has_py_typed_and_a_docstring(package: str) -> None:
    assert (ROOT / package / "py.typed").read_text() == ""
    assert (ROOT / package / "__init__.py").read_text().startswith('"""')


def test_plugin_folders_hold_packages_only() -> None:
    loose = [p for d in FOLDERS for p in (ROOT / d).iterdir() if p.is_file()]

    assert loose == []


@pytest.mark.parametrize("kind", ["stores", "connectors", "serdes", "serde_texts", "watchers"])
def test_entry_points_name_modules_that_exist(kind: str) -> None:
    ours = [e for e in entry_points(group=f"kstreams.{kind}") if e.module.startswith("kstreams")]

    assert ours != []
    assert [e.name for e in ours if find_spec(e.module) is None] == []


@pytest.mark.slow
def test_wheel_ships_the_packages_and_nothing_else(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    sources = {
        str(path.relative_to((ROOT / package).parent))
        for package in packages()
        for path in (ROOT / package).rglob("*.py")
    }
    shipped = {name for name in names if name.endswith(".py")}
    assert shipped == sources
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {
        Path(package).name for package in packages()
    }
