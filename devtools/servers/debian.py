"""Programs of Debian packages, unpacked into the library's cache without an installation.

Requires `apt-get` and `dpkg-deb`, but not root: apt determines the missing packages of this
machine, and downloads them from its configured mirror.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from devtools.servers.made_once import made_once
from devtools.servers.process import NoServerError
from kstreams.files import cache_folder

__all__ = ("debian_root",)

_NAME = re.compile(r"^'[^']*' ([^_ ]+)_", re.MULTILINE)


def debian_root(package: str) -> Path:
    """Return a folder with the files of a package and of its dependencies not installed here.

    Raises:
        NoServerError: This machine does not run Debian, or apt does not know the package.
    """
    root = cache_folder() / "servers" / f"debian-{package}"
    return made_once(root, partial(_unpack, package, root))


def _unpack(package: str, root: Path) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise NoServerError(
            f"apt-get is not installed, so the package {package} cannot be installed"
        )
    names = _missing(package)
    with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        archives, unpacked = Path(scratch, "archives"), Path(scratch, "root")
        archives.mkdir()
        unpacked.mkdir()
        _apt("download", "-q", "-o", "APT::Sandbox::User=root", *names, folder=archives)
        for archive in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True, capture_output=True)
        unpacked.rename(root)


def _missing(package: str) -> list[str]:
    """Return the packages that apt would install, from its simulation."""
    options = ["--no-install-recommends", "--print-uris", "-o", "Debug::NoLocking=1"]
    said = _apt("install", "-y", *options, package, folder=Path.cwd())
    return _NAME.findall(said) or [package]


def _apt(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        ["apt-get", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoServerError(f"apt-get {arguments[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout
