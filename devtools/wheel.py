"""The library as a user has it: its wheel, built and installed in a virtual environment."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

__all__ = ("installed_wheel",)

ROOT = Path(__file__).parents[1]


def installed_wheel(folder: Path) -> Path:
    """
    Build the wheel, and install it where dependencies are those of this environment.

    Args:
        folder: An empty one.

    Returns:
        The folder of the virtual environment; its Python is `bin/python`.

    """
    _run("build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    environment = folder / "env"
    _run("venv", "--without-pip", str(environment))
    (wheel,) = folder.glob("kstreams_spark-*.whl")
    (site,) = environment.glob("lib/python*/site-packages")
    _run(
        "uv",
        "pip",
        "install",
        "--target",
        str(site),
        "--no-deps",
        "--offline",
        "--compile-bytecode",
        str(wheel),
    )
    # A path named in a .pth file is searched, but its own .pth files, the one of the
    # sources here among them, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return environment


def _run(module: str, *arguments: str) -> None:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
