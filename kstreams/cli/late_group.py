"""Groups of commands, each of which is imported when it is called or its help is shown."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kstreams.cli.command import add_command

__all__ = ("late_group",)


def late_group(places: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a group, for `typer.Typer(cls=...)`.

    A call of one command imports nothing that only others need, and has typer read no options
    but its own.

    Args:
        places: Where the function of each command is, as MODULE:NAME in this package, by the
            command's name, in the order of the help.
    """

    class LateGroup(TyperGroup):
        """Has these commands, and after them its own groups."""

        def __init__(self, **given: Any) -> None:  # noqa: ANN401  # whatever typer says of it
            super().__init__(**given)
            self.commands = _Commands({**places, **self.commands})

    return LateGroup


class _Commands(UserDict[str, Any]):
    """Commands by name; what is a text yet is where one is."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # typer's classes are its own
        found = super().__getitem__(name)
        if isinstance(found, str):
            found = self[name] = _made(name, found)
        return found


def _made(name: str, place: str) -> object:
    module, _, function = place.partition(":")
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    add_command(alone, name, getattr(import_module(f"kstreams.cli.{module}"), function))
    return get_command(alone)
