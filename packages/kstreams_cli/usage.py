"""The error of a command that is called wrongly, and how it becomes typer's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

__all__ = ("WrongUsageError", "for_option", "shown_by_typer")


class WrongUsageError(Exception):
    """An argument or option means nothing; `option` names it, in quotes, once known."""

    def __init__(self, message: str, option: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.option = option


@contextmanager
def for_option(option: str) -> Iterator[None]:
    """Name the option in an error that comes out of reading its text."""
    try:
        yield
    except WrongUsageError as exc:
        exc.option = exc.option or option
        raise


@contextmanager
def shown_by_typer() -> Iterator[None]:
    """Hand wrong usage to typer, which shows it with the command's usage; exit code 2."""
    try:
        yield
    except WrongUsageError as exc:
        option = f"'{exc.option}'" if exc.option else None
        raise typer.BadParameter(exc.message, param_hint=option) from exc
