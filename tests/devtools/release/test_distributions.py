"""Builds of a commit: platforms, compilers, equal bytes."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from devtools.release import distributions
from devtools.release.contents import check_contents, check_equal
from devtools.release.distributions import PLATFORMS, build, this_platform
from devtools.release.progress import ReleaseError
from devtools.release.source import Source, export
from devtools.workspace import ROOT, core


def test_release_builds_wheels_for_each_platform_of_compile_kernel_script() -> None:
    text = (ROOT / "native" / "compile_kernel.py").read_text()

    assert re.findall(r'^    "(\w+)": "', text, re.MULTILINE) == list(PLATFORMS)


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("linux-x86_64", "manylinux_2_17_x86_64"),
        ("linux-aarch64", "manylinux_2_17_aarch64"),
        ("macosx-14.0-arm64", "macosx_11_0_arm64"),
    ],
)
def test_platform_of_machine_is_one_with_wheels(
    machine: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: machine)

    assert this_platform() == expected


@pytest.mark.parametrize("machine", ["win-amd64", "linux-ppc64le", "freebsd-14.1-release-amd64"])
def test_machine_without_wheels_is_refused(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: machine)

    with pytest.raises(ReleaseError, match="no wheels are made on"):
        this_platform()


def test_build_without_compiler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributions, "ZIG", tmp_path)
    project = '[project]\nname = "kstreams-spark"\nversion = "1.2.3"\n'
    for folder in (tmp_path, tmp_path / "native"):
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text(project)
    monkeypatch.setattr(distributions, "run", lambda *_, **__: "")

    with pytest.raises(ReleaseError, match=r"ziglang is not installed(.|\n)*make dist"):
        build(Source(tmp_path, "", 0), tmp_path / "dist", ["manylinux_2_17_x86_64"])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_builds_of_a_commit_are_equal_and_complete(tmp_path: Path) -> None:
    if not (distributions.ZIG / "ziglang").exists():
        pytest.skip("ziglang is not installed: make dist gets it")
    made = [
        build(export(tmp_path / f"source-{n}"), tmp_path / f"dist-{n}", [this_platform()])
        for n in range(2)
    ]

    check_contents(made[0], core().project["version"])
    assert check_equal(tmp_path / "dist-0", tmp_path / "dist-1") == len(made[1])
