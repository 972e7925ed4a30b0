"""The error of wrong usage of a command, and its conversion to typer's error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

__all__ = ("WrongUsageError", "for_option", "shown_by_typer")


class WrongUsageError(Exception):
    """An argument or option is invalid; `option` is its quoted name, empty until known."""

    def __init__(self, message: str, option: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.option = option


@contextmanager
def for_option(option: str) -> Iterator[None]:
    """Add the name of the option to a `WrongUsageError` of the code in this context."""
    try:
        yield
    except WrongUsageError as exc:
        exc.option = exc.option or option
        raise


@contextmanager
def shown_by_typer() -> Iterator[None]:
    """Convert `WrongUsageError` to typer's error, which shows the usage; exit code 2."""
    try:
        yield
    except WrongUsageError as exc:
        option = f"'{exc.option}'" if exc.option else None
        raise typer.BadParameter(exc.message, param_hint=option) from exc
