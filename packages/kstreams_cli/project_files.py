"""The files of a new project: templates, the rules for its name, and their creation."""

from __future__ import annotations

import keyword
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from kstreams.errors import ExecutionError, InvalidNameError, KStreamsError

__all__ = ("ProjectExistsError", "create_project", "package_of")

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MAX_CHARS = 64
_RULE = (
    "lowercase letters, digits and single hyphens, beginning with a letter, such as order-totals; "
    f"{_MAX_CHARS} characters at most."
)
_OWN_FOLDERS = ("data", "tests")
"""Folders of a project, whose names its package cannot have."""
_TEMPLATES = Path(__file__).parent / "project"
_SUFFIX = ".txt"
"""The suffix of templates, so that no tool takes them for modules of this package."""


class ProjectExistsError(KStreamsError, FileExistsError):
    """The directory of a new project exists; choose another name, or remove the directory."""

    __str__ = KStreamsError.__str__


def package_of(name: str) -> str:
    """Return the name of the Python package of a project."""
    return name.replace("-", "_")


def create_project(name: str, directory: Path) -> tuple[str, ...]:
    """Create the files of a project, and return their paths in the directory, sorted.

    If a file cannot be written, the directory is removed.

    Args:
        name: The name of the project.
        directory: The directory, which must not exist.

    Raises:
        InvalidNameError: The name is invalid for a project, or its package would hide a module.
        ProjectExistsError: The directory, or a file of this name, exists.
        ExecutionError: The directory or a file cannot be written.
    """
    _check(name)
    try:
        directory.mkdir()
    except FileExistsError as exc:
        raise ProjectExistsError(
            f"cannot create project {name!r}: {directory} exists",
            hint="choose another name, or remove it.",
        ) from exc
    except OSError as exc:
        raise _failed(name, exc) from exc
    try:
        return tuple(sorted(_write(name, directory)))
    except BaseException as exc:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(exc, OSError):
            raise _failed(name, exc) from exc
        raise


def _failed(name: str, exc: OSError) -> ExecutionError:
    return ExecutionError(
        f"cannot create project {name!r}: {exc}",
        hint="check that this user may write to the current directory, and that the disk has free "
        "space.",
    )


def _check(name: str) -> None:
    if len(name) > _MAX_CHARS or not _NAME.fullmatch(name):
        raise InvalidNameError(f"{name!r} is not a valid project name", name=name, hint=_RULE)
    package = package_of(name)
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        reason = "is a keyword of Python"
    elif package in _OWN_FOLDERS:
        reason = "is the name of a folder of each project"
    elif package in sys.stdlib_module_names or find_spec(package) is not None:
        reason = "is the name of an installed module, which the project would hide"
    else:
        return
    hint = f"choose another name, such as {name}-app."
    raise InvalidNameError(f"{package!r} {reason}", name=name, hint=hint)


def _write(name: str, directory: Path) -> list[str]:
    package = package_of(name)
    values = {"@NAME@": name, "@PACKAGE@": package, "@VERSION@": version("kstreams-spark")}
    written = []
    for template in sorted(_TEMPLATES.rglob(f"*{_SUFFIX}")):
        path = template.relative_to(_TEMPLATES).as_posix().removesuffix(_SUFFIX)
        own = path.replace("PACKAGE/", f"{package}/").replace("dot-", ".")
        file = directory / own
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_filled(template.read_text(encoding="utf-8"), values), encoding="utf-8")
        written.append(own)
    return written


def _filled(text: str, values: Mapping[str, str]) -> str:
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text
