"""A cache for the version of a `java` program, because asking a program starts a JVM."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from kstreams.errors import ForeignDirectoryError
from kstreams.files import cache_folder
from kstreams.state.versions.private import private_directory

__all__ = ("known_java", "remember_java")

_NAME = "last.json"
_PARTS = ("bin/java", "release", "lib/modules")


def known_java(java: Path) -> tuple[int, Path] | None:
    """Return the cached version and home of a `java`, if the program has not changed.

    Args:
        java: The path of the `java` program.
    """
    state = _state(java)
    try:
        if state is None:
            return None
        found = json.loads((_folder() / _NAME).read_text(encoding="utf-8"))
        return (int(found["version"]), Path(found["home"])) if found["state"] == state else None
    except (ForeignDirectoryError, OSError, ValueError, KeyError, TypeError):
        return None


def remember_java(java: Path, version: int, home: Path) -> None:
    """Cache the version and home of a `java`, replacing the cached values of another `java`."""
    state = _state(java)
    if state is None:
        return
    with suppress(ForeignDirectoryError, OSError):
        draft = _folder() / f"{uuid4().hex}.new"
        text = json.dumps({"state": state, "version": version, "home": str(home)})
        try:
            draft.write_text(text, encoding="utf-8")
            draft.rename(draft.with_name(_NAME))
        finally:
            draft.unlink(missing_ok=True)


def _folder() -> Path:
    """Return the private folder of the cache, whose content decides which Java is started."""
    return private_directory(cache_folder(), "known-java")


def _state(java: Path) -> list[object] | None:
    """Return data that changes when the Java of a `java` program is replaced.

    The result is None for a program that can run different Java versions, such as a version
    manager's.
    """
    home = java.resolve().parent.parent
    try:
        told = [(home / part).stat() for part in _PARTS]
    except OSError:
        return None
    if os.name != "posix":
        return None
    return [str(java), str(home), *([each.st_size, each.st_mtime_ns] for each in told)]
