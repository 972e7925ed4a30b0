"""
Programs of Debian's packages, unpacked into the library's cache: nothing is installed.

Wants `apt-get` and `dpkg-deb`, no root: apt says which packages this machine lacks, and
fetches them from the registry that it is set up with.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from devtools.servers.process import NoServerError
from kstreams.files import cache_folder

__all__ = ("debian_root",)

_NAME = re.compile(r"^'[^']*' ([^_ ]+)_", re.MULTILINE)


def debian_root(package: str) -> Path:
    """
    Return a folder with what a package has, and what it needs that is not installed here.

    Raises:
        NoServerError: This machine is no Debian, or apt does not know the package.

    """
    root = cache_folder() / "servers" / f"debian-{package}"
    if not root.is_dir():
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise NoServerError(f"no apt-get here, which brings {package}")
        root.parent.mkdir(parents=True, exist_ok=True)
        with (root.parent / f"debian-{package}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not root.is_dir():
                _unpack(package, root)
    return root


def _unpack(package: str, root: Path) -> None:
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
    """Return the packages that apt would install, by its own answer."""
    options = ["--no-install-recommends", "--print-uris", "-o", "Debug::NoLocking=1"]
    said = _apt("install", "-y", *options, package, folder=Path.cwd())
    return _NAME.findall(said) or [package]


def _apt(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        ["apt-get", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoServerError(f"apt-get {arguments[0]} fails: {done.stderr.strip()[-500:]}")
    return done.stdout
