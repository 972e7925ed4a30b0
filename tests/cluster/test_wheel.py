"""The wheel, installed in a separate environment without the sources."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devtools.spark_home import LOCAL_CLUSTER
from devtools.workspace import core, packages
from kstreams.spark.startup.java import java_home
from tests.cluster.user_project import expected_counts, make_project, run_project

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

GROUPS = ("kstreams.connectors", "kstreams.stores", "kstreams.serdes")
PACKAGES = ("kstreams", "kstreams_daemon", *(each.folder.name for each in packages()))

LOOK = f"""
import importlib.metadata as m
from importlib import import_module
from pathlib import Path
from kstreams import App
for name in {PACKAGES}:
    package = import_module(name)
    print(package.__file__, (Path(package.__file__).parent / "py.typed").is_file())
for group in {GROUPS}:
    for entry in sorted(m.entry_points(group=group), key=lambda e: e.name):
        print(entry.name, entry.load().__module__.partition(".")[0])
"""


@pytest.fixture
def python(wheel_environment: Path) -> Path:
    """The Python of the environment with the wheel."""
    return wheel_environment / "bin" / "python"


def test_installed_wheel_has_packages_types_and_entry_points(python: Path, tmp_path: Path) -> None:
    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", LOOK], cwd=tmp_path, env=clean, capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    site = next((python.parents[1] / "lib").glob("python*")) / "site-packages"
    count = len(PACKAGES)
    assert lines[:count] == [f"{site / name / '__init__.py'} True" for name in PACKAGES]
    offered = {
        group: {
            name: value.partition(":")[0]
            for project in (core(), *packages())
            for name, value in project.project.get("entry-points", {}).get(group, {}).items()
        }
        for group in GROUPS
    }
    assert lines[count:] == [
        f"{name} {offered[group][name]}".partition(".")[0]
        for group in GROUPS
        for name in sorted(offered[group])
    ]


@pytest.mark.long
@pytest.mark.parametrize("way", ["python", "spark-submit", "executors"])
def test_installed_wheel_counts_words(python: Path, tmp_path: Path, way: str) -> None:
    script = make_project(tmp_path)
    command = [str(python)]
    environment = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    if way == "spark-submit":
        submit = Path(sys.executable).parent / "spark-submit"
        command = [str(submit), "--master", "local[2]"]
        environment["JAVA_HOME"] = str(java_home())

    found = run_project(
        command,
        script,
        backend="rocksdb",
        master=LOCAL_CLUSTER if way == "executors" else None,
        environment=environment,
    )

    assert found.counts == expected_counts()
    assert found.library.startswith(str(python.parents[1]))
    shipped = ["/kstreams_packages_" in file for file in found.files]
    assert shipped == ([True, True] if way == "executors" else [False])
