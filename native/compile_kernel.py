"""Compile kernel.c into the wheel: with `cc`, or with the package `ziglang`.

For this machine, or for the platform that `KSTREAMS_WHEEL_PLATFORM` names, by its tag.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {  # wheel tags and their zig targets
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0-none",
    "macosx_11_0_arm64": "aarch64-macos.11.0-none",
}
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-s")


class CompileKernel(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled kernel, and tags the wheel with a platform but no Python version."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile kernel.c and add the result to the wheel; called by hatchling."""
        platform = os.environ.get("KSTREAMS_WHEEL_PLATFORM", "")
        source = Path(self.root) / "kstreams_kafka_native" / "kernel.c"
        made = Path(self.directory) / "kernel.so"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*compiler(platform), *FLAGS, "-o", str(made), str(source)], check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform or this_platform()}"
        build_data["force_include"][str(made)] = "kstreams_kafka_native/kernel.so"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete kernel.so from the output directory after the build; called by hatchling."""
        (Path(self.directory) / "kernel.so").unlink()


def compiler(platform: str) -> list[str]:
    """Return the command of a C compiler: ziglang's for a named platform, else `cc`."""
    zig = importlib.util.find_spec("ziglang") is not None
    if platform:
        if platform not in PLATFORMS:
            raise SystemExit(f"no wheels are made for {platform}, but for {', '.join(PLATFORMS)}")
        if not zig:
            raise SystemExit("to compile for a named platform: pip install ziglang")
        return [sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[platform]]
    named = (
        os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    )
    if named:
        return named.split()
    if zig:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise SystemExit("no C compiler: install cc, or pip install ziglang")


def this_platform() -> str:
    """Return the tag of a wheel that is for this machine alone."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
