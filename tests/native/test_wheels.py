"""A wheel of the C extension has the tag of its platform, for this platform and for another."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.native.sanitized_build import ROOT

pytestmark = pytest.mark.slow

ZIG = ROOT / "build" / "ziglang"
"""Target folder of `make dist`."""
LOOPS = {
    *("kk_version", "kk_take", "kk_measure", "kk_fill"),
    *("kk_drop", "kk_longest_prefix", "kk_produce"),
}


def built(folder: Path, platform: str, **variables: str) -> tuple[str, Path]:
    """Build a wheel; return its platform's tag, and its library."""
    environment = {**os.environ, "PYTHONPATH": str(ZIG), **variables}
    environment["KSTREAMS_WHEEL_PLATFORM"] = platform
    source = shutil.copytree(ROOT / "native", folder / "native")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder)]
    done = subprocess.run(
        [*command, str(source)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("kstreams_kafka_native/kernel.so", folder)
    found = re.fullmatch(r"kstreams_kafka_native-[\d.]+-py3-none-(\w+)", wheel.stem)
    assert found is not None, wheel.name
    return found[1], folder / "kstreams_kafka_native" / "kernel.so"


def read(library: Path, *what: str) -> str:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("readelf is not installed")
    done = subprocess.run([readelf, *what, "-W", str(library)], capture_output=True, check=True)
    return done.stdout.decode()


def ziglang() -> None:
    if find_spec("ziglang") is None and not ZIG.exists():
        pytest.skip("ziglang is not installed: make dist gets it")


@pytest.mark.parametrize("compiler", ["cc", "ziglang"])
def test_native_library_of_wheel_for_this_machine_loads(tmp_path: Path, compiler: str) -> None:
    if compiler == "ziglang":
        ziglang()
        tag, path = built(tmp_path, "", PATH="/no/compiler", CC="")
    else:
        if shutil.which("cc") is None:
            pytest.skip("there is no cc here")
        tag, path = built(tmp_path, "")
    machine = os.uname().machine
    assert tag.endswith(f"_{machine}")
    loaded = ctypes.CDLL(str(path))
    assert all(hasattr(loaded, name) for name in LOOPS)
    assert loaded.kk_version() == 1


@pytest.mark.parametrize(
    ("platform", "machine"),
    [("manylinux_2_17_x86_64", "X86-64"), ("manylinux_2_17_aarch64", "AArch64")],
)
def test_wheel_built_for_other_platform_has_its_tag_and_machine_code(
    tmp_path: Path, platform: str, machine: str
) -> None:
    ziglang()
    tag, path = built(tmp_path, platform)
    assert tag == platform
    assert machine in read(path, "-h")
    symbols = read(path, "--dyn-syms").splitlines()
    defined = {each.split()[-1] for each in symbols if " GLOBAL " in each and " UND " not in each}
    assert defined == LOOPS
    asked = [tuple(map(int, each)) for each in re.findall(r"GLIBC_(\d+)\.(\d+)", read(path, "-V"))]
    assert max(asked, default=(0, 0)) <= (2, 17)
    assert "librdkafka" not in read(path, "-d")


def test_wheel_build_refuses_unsupported_platform(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no wheels are made for win_amd64"):
        built(tmp_path, "win_amd64")
