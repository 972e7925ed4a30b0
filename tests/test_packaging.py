"""The projects of the workspace, their extras, entry points and wheels agree with the folders."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import zipfile
from importlib.metadata import entry_points, metadata, requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from devtools import workspace
from devtools.wheel import build_wheels, installed_wheels
from devtools.workspace import ROOT, Package

FOLDERS = ("packages", "connectors", "stores", "serdes")
PROJECTS = workspace.packages()
CORE = workspace.core()
VERSION = CORE.project["version"]
EXTRAS = workspace.all_extras(CORE, PROJECTS, ("java",))
TOP_LEVEL_BYTES = 10_000

LOOK = """
import importlib.metadata as m, sys
from importlib import import_module
for name in sys.argv[1].split():
    print(name, import_module(name).__file__)
for group in sys.argv[2].split():
    for entry in m.entry_points(group=group):
        entry.load()
        print(entry.name, entry.module.partition(".")[0])
"""


def packages() -> list[str]:
    """Return the paths of all packages in the wheel."""
    plugins = [p for d in FOLDERS for p in sorted((ROOT / d).iterdir()) if p.is_dir()]
    return [
        "kstreams",
        "kstreams_daemon",
        *(str(p.relative_to(ROOT)) for p in plugins if p.name != "__pycache__"),
    ]


def groups(package: Package) -> dict[str, dict[str, str]]:
    """Return the entry points of a package by group, but not its programs."""
    found: dict[str, dict[str, str]] = package.project.get("entry-points", {})
    return found


def test_every_folder_of_a_package_has_a_project() -> None:
    folders = ["kstreams", "kstreams_daemon"]
    folders += [str(project.folder.relative_to(ROOT)) for project in PROJECTS]

    assert sorted(folders) == sorted(packages())


def test_top_level_pyproject_file_is_short() -> None:
    assert (ROOT / "pyproject.toml").stat().st_size < TOP_LEVEL_BYTES


@pytest.mark.parametrize("package", packages())
def test_package_has_py_typed_and_a_docstring(package: str) -> None:
    assert (ROOT / package / "py.typed").read_text() == ""
    assert (ROOT / package / "__init__.py").read_text().startswith('"""')


def test_plugin_folders_contain_only_packages() -> None:
    loose = [p for d in FOLDERS for p in (ROOT / d).iterdir() if p.is_file()]

    assert loose == []


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.extra)
def test_project_is_named_as_its_package(project: Package) -> None:
    package = project.folder.name
    text = (project.folder / "pyproject.toml").read_text()

    assert project.distribution == package.replace("_", "-")
    assert f'sources = {{ "" = "{package}" }}' in text
    values = [value for group in groups(project).values() for value in group.values()]
    assert {value.partition(":")[0].partition(".")[0] for value in values} <= {package}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.extra)
def test_project_requires_core_and_other_packages_of_same_version(project: Package) -> None:
    ours = [each for each in project.requirements if each.startswith("kstreams-")]

    assert project.project["version"] == VERSION
    assert f"kstreams-spark=={VERSION}" in ours
    assert {str(Requirement(each).specifier) for each in ours} == {f"=={VERSION}"}


def test_install_without_extras_has_packages_without_other_requirements() -> None:
    plain = {
        project.distribution
        for project in PROJECTS
        if all(each.startswith("kstreams-") for each in project.dependencies)
    }

    found = [each for each in CORE.dependencies if each.startswith("kstreams-")]
    assert found == sorted(f"{name}=={VERSION}" for name in plain)


def test_each_extra_belongs_to_a_project() -> None:
    """The extras that are installed are up to date: `make setup` installs a changed project."""
    about = metadata("kstreams-spark")

    assert sorted(about.get_all("Provides-Extra") or ()) == sorted(EXTRAS)
    for extra, required in EXTRAS.items():
        if extra != "all":
            assert _required_by("kstreams-spark", extra) == {_text(each) for each in required}


def test_extra_all_includes_every_extra_that_works_on_every_platform() -> None:
    (everything,) = EXTRAS["all"]

    assert Requirement(everything).extras == {*EXTRAS} - {"all", "java"}


def test_packages_of_plain_install_are_not_extras() -> None:
    plain = {Requirement(each).name for each in CORE.dependencies}
    wrong = [
        project.extra
        for project in PROJECTS
        if (project.distribution in plain)
        == (f"{project.distribution}=={VERSION}" in EXTRAS.get(project.extra, ()))
    ]

    assert wrong == []


def test_version_is_set_in_all_projects(tmp_path: Path) -> None:
    folders = ["", "native", "packages/kstreams_kafka", "stores/kstreams_s3"]
    files = [Path(folder, "pyproject.toml") for folder in folders]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text((ROOT / file).read_text())

    recipe = tmp_path / "packaging" / "conda" / "recipe.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text('context:\n  version: "0.1.0"\n  python_min: "3.10"\n')

    workspace.set_version(tmp_path, "7.8.9")

    assert recipe.read_text() == 'context:\n  version: "7.8.9"\n  python_min: "3.10"\n'

    kafka, plugin = workspace.packages(tmp_path)
    core = workspace.core(tmp_path)
    projects = (core, workspace.compiled(tmp_path), kafka, plugin)
    assert {each.project["version"] for each in projects} == {"7.8.9"}
    assert plugin.dependencies == [
        "kstreams-spark==7.8.9",
        "kstreams-objectstore==7.8.9",
        "boto3>=1.36.0,<2",
    ]
    assert "kstreams-cli==7.8.9" in core.dependencies
    confluent, native = map(Requirement, kafka.extras["kafka"])
    assert confluent.name == "confluent-kafka"
    assert (native.name, str(native.specifier)) == ("kstreams-kafka-native", "==7.8.9")
    assert "platform_machine" in str(native.marker)


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3+local", '1.2.3"'])
def test_set_version_rejects_malformed_version(version: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is no version"):
        workspace.set_version(tmp_path, version)


def test_extra_kafka_installs_compiled_loops_on_platforms_with_wheels() -> None:
    """Elsewhere, pip would build the source distribution, and fail without a compiler."""
    kafka = next(each for each in PROJECTS if each.extra == "kafka")
    (native,) = (Requirement(each) for each in kafka.extras["kafka"] if "native" in each)
    assert native.marker is not None

    found = {
        (system, machine)
        for system in ("linux", "darwin", "win32", "freebsd14")
        for machine in ("x86_64", "aarch64", "arm64", "AMD64", "ppc64le", "armv7l", "i686")
        if native.marker.evaluate({"sys_platform": system, "platform_machine": machine})
    }

    assert found == {
        *(("linux", "x86_64"), ("linux", "aarch64")),
        *(("darwin", "x86_64"), ("darwin", "arm64")),
    }


def test_all_packages_have_one_version() -> None:
    projects = (CORE, workspace.compiled(), *PROJECTS)

    assert {each.project["version"] for each in projects} == {VERSION}


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.extra)
def test_readme_of_project_names_its_extra(project: Package) -> None:
    own = [
        extra
        for extra, required in EXTRAS.items()
        if any(Requirement(each).name == project.distribution for each in required)
    ]
    command = f"`pip install 'kstreams-spark[{own[0]}]'`" if own else "`pip install kstreams-spark`"

    readme = project.project["readme"]
    assert readme == {
        "content-type": "text/markdown",
        "text": f"{project.project['description']} To install it: {command}.",
    }


@pytest.mark.parametrize("kind", ["stores", "connectors", "serdes", "serde_texts", "watchers"])
def test_entry_points_name_modules_that_exist(kind: str) -> None:
    ours = [e for e in entry_points(group=f"kstreams.{kind}") if e.module.startswith("kstreams")]

    assert ours != []
    assert [e.name for e in ours if find_spec(e.module) is None] == []


def test_setup_script_installs_each_project() -> None:
    spec = importlib.util.spec_from_file_location("scripts_setup", ROOT / "scripts" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)

    projects = [ROOT, *(project.folder for project in PROJECTS)]
    assert setup.project_files() == [folder / "pyproject.toml" for folder in projects]


@pytest.mark.slow
def test_wheels_contain_only_the_packages(tmp_path: Path) -> None:
    wheels = build_wheels(tmp_path)

    names: list[str] = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names += archive.namelist()
    sources = {
        str(path.relative_to((ROOT / package).parent))
        for package in packages()
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if path != ROOT / package / "pyproject.toml"
    }
    shipped = [name for name in names if ".dist-info/" not in name]
    assert sorted(shipped) == sorted(sources)
    assert len(wheels) == 1 + len(PROJECTS)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_installed_wheels_work_without_sources(tmp_path: Path) -> None:
    environment = installed_wheels(tmp_path / "wheels")

    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    names = [Path(package).name for package in packages()]
    kinds = {kind: entries for project in PROJECTS for kind, entries in groups(project).items()}
    kinds |= groups(CORE)
    look = [str(environment / "bin" / "python"), "-c", LOOK, " ".join(names), " ".join(kinds)]
    version = [str(environment / "bin" / "kstreams"), "--version"]
    looked, said = (
        subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        for command in (look, version)
    )

    (site,) = environment.glob("lib/python*/site-packages")
    assert looked.returncode == 0, looked.stderr
    lines = looked.stdout.splitlines()
    assert lines[: len(names)] == [f"{name} {site / name / '__init__.py'}" for name in names]
    offered = [
        f"{name} {value.partition(':')[0].partition('.')[0]}"
        for project in (CORE, *PROJECTS)
        for entries in groups(project).values()
        for name, value in entries.items()
    ]
    assert sorted(lines[len(names) :]) == sorted(offered)
    assert said.stdout.startswith(f"kstreams {VERSION} ")


def _required_by(distribution: str, extra: str) -> set[str]:
    """Return the requirements of an extra that is installed."""
    found = [Requirement(each) for each in requires(distribution) or ()]
    return {
        _text(str(each).partition(";")[0])
        for each in found
        if each.marker and each.marker.evaluate({"extra": extra})
    }


def _text(requirement: str) -> str:
    return str(Requirement(requirement))
