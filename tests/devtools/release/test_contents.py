"""Rules for the content of wheels, and the comparison of two builds."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from devtools.release.contents import (
    MOST_CORE_BYTES,
    check_contents,
    check_equal,
    problems_of_wheel,
)
from devtools.release.progress import ReleaseError

METADATA = (
    "Metadata-Version: 2.4\nName: kstreams-s3\nVersion: {}\nLicense-Expression: MIT\n\nText.\n"
)


def wheel(folder: Path, *, version: str = "1.2.3", leave_out: str = "", add: str = "") -> Path:
    """Write a wheel, without one of its files or with another one."""
    path = folder / f"kstreams_s3-{version}-py3-none-any.whl"
    info = f"kstreams_s3-{version}.dist-info"
    files = {
        "kstreams_s3/__init__.py": "",
        "kstreams_s3/py.typed": "",
        f"{info}/METADATA": METADATA.format(version),
        f"{info}/licenses/LICENSE": "text",
    }
    files |= {add: ""} if add else {}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            if not leave_out or not name.endswith(leave_out):
                archive.writestr(name, text)
    return path


def test_wheel_with_all_parts_has_no_problems(tmp_path: Path) -> None:
    check_contents([wheel(tmp_path)], "1.2.3")


@pytest.mark.parametrize(
    ("leave_out", "problem"),
    [("py.typed", "kstreams_s3 has no py.typed"), ("LICENSE", "there is no LICENSE")],
)
def test_wheel_without_a_required_file_is_refused(
    tmp_path: Path, leave_out: str, problem: str
) -> None:
    assert list(problems_of_wheel(wheel(tmp_path, leave_out=leave_out), "1.2.3")) == [problem]


@pytest.mark.parametrize(
    "name",
    [
        "kstreams_s3/tests/__init__.py",
        "kstreams_s3/test_store.py",
        "kstreams_s3/conftest.py",
        "kstreams_s3/__pycache__/store.cpython-310.pyc",
    ],
)
def test_wheel_with_tests_or_caches_is_refused(tmp_path: Path, name: str) -> None:
    found = list(problems_of_wheel(wheel(tmp_path, add=name), "1.2.3"))

    assert found == [f"{name} is no part of a package"]


def test_wheel_with_test_driver_is_accepted(tmp_path: Path) -> None:
    found = wheel(tmp_path, add="kstreams_s3/testing/contract.py")

    assert list(problems_of_wheel(found, "1.2.3")) == []


def test_problems_of_several_distributions_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    wheels = [wheel(tmp_path / "a", leave_out="py.typed"), wheel(tmp_path, version="1.2.4")]

    with pytest.raises(ReleaseError) as caught:
        check_contents(wheels, "1.2.3")

    assert "kstreams_s3-1.2.3-py3-none-any.whl: kstreams_s3 has no py.typed" in str(caught.value)
    assert "its version is 1.2.4, expected 1.2.3" in str(caught.value)
    assert "Hint: " in str(caught.value)


def test_wheel_of_core_above_largest_size_is_refused(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("kstreams_s3/large.py", b"x" * MOST_CORE_BYTES)
    core = path.rename(tmp_path / "kstreams_spark-1.2.3-py3-none-any.whl")

    (problem,) = problems_of_wheel(core, "1.2.3")

    assert "expected at most 1,500,000" in problem


@pytest.mark.parametrize("changed", ["other", None])
def test_builds_that_differ_are_refused(tmp_path: Path, changed: str | None) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "same.whl").write_text("same")
        (folder / "different.whl").write_text("text")
    assert check_equal(first, second) == 2

    if changed is None:
        (second / "different.whl").unlink()
    else:
        (second / "different.whl").write_text(changed)

    with pytest.raises(ReleaseError, match=r"differ\ndifferent\.whl\nHint"):
        check_equal(first, second)
