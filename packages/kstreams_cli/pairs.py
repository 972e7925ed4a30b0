"""Options of the form `name=value`, from the command line and from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kstreams_cli.usage import WrongUsageError

__all__ = ("pairs_of", "read_pairs")


def pairs_of(given: Iterable[str], option: str) -> dict[str, str]:
    """Return the values of a repeated option, by name; the last value of a name wins.

    The error does not repeat the user's text, because it may be a secret.

    Raises:
        WrongUsageError: A text has no `=`, or no name before it.
    """
    return dict(
        _pair(text, f"number {number} is not name=value", option)
        for number, text in enumerate(given, start=1)
    )


def read_pairs(file: Path, option: str) -> dict[str, str]:
    """Return the values in a file, by name. Empty lines and lines that begin with `#` are ignored.

    Raises:
        WrongUsageError: The file cannot be read, or a line is not `name=value`.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise WrongUsageError(f"cannot read {file}: {exc}", option) from exc
    return dict(
        _pair(line, f"line {number} of {file} is not name=value", option)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _pair(text: str, problem: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise WrongUsageError(problem, option)
    return name.strip(), value.strip()
