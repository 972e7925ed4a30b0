"""Compile kernel.c into the wheel: with `cc`, or with the package `ziglang`."""

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

FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


class CompileKernel(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled kernel, and names the wheel after its platform alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; called by hatchling."""
        target = os.environ.get("KSTREAMS_TARGET", "")
        source = Path(self.root) / "kstreams_kafka_native" / "kernel.c"
        made = Path(self.directory) / "kernel.so"
        made.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*compiler(target), *FLAGS, "-o", str(made), str(source)], check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{wheel_platform(target)}"
        build_data["force_include"][str(made)] = "kstreams_kafka_native/kernel.so"


def compiler(target: str) -> list[str]:
    """Return the command of a C compiler: ziglang's for another platform, else `cc`."""
    zig = importlib.util.find_spec("ziglang") is not None
    if target:
        if not zig:
            raise SystemExit("to compile for another platform: pip install ziglang")
        return [sys.executable, "-m", "ziglang", "cc", "-target", target]
    named = (
        os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    )
    if named:
        return named.split()
    if zig:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise SystemExit("no C compiler: install cc, or pip install ziglang")


def wheel_platform(target: str) -> str:
    """Return a wheel's platform tag; for another platform than this, by zig's name of it."""
    if not target:
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    machine, system, abi = target.split("-", 2)
    if system == "macos":
        return "macosx_11_0_arm64" if machine == "aarch64" else "macosx_10_12_x86_64"
    if abi.startswith("musl"):
        return f"musllinux_1_2_{machine}"
    return f"manylinux_{abi.partition('.')[2].replace('.', '_') or '2_17'}_{machine}"
