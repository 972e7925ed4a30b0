"""Groups of commands; a command is imported when it is called or its help is shown.

Installed packages add commands to the program by entry points of the group `kstreams.commands`.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kstreams.plugins import load_plugin, plugin_names
from kstreams_cli.command import add_command

__all__ = ("late_group",)


def late_group(places: Mapping[str, str], *, open_to_plugins: bool = False) -> type[TyperGroup]:
    """Return the class of a group, for `typer.Typer(cls=...)`.

    A call of one command imports only its modules, and typer reads only its options.

    Args:
        places: The function of each command as MODULE:NAME in this package, by the command's name,
            in the order of the help.
        open_to_plugins: Whether installed packages add commands. They come last in the help, and a
            command of the group keeps its name.
    """

    class LateGroup(TyperGroup):
        """A group that lists the lazily loaded commands first, then its subgroups."""

        def __init__(self, **given: Any) -> None:  # noqa: ANN401  # whatever typer says of it
            super().__init__(**given)
            self.commands = _Commands({**places, **self.commands})

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401  # typer hides its class
            """Return the names of all commands, including those of installed packages."""
            own = super().list_commands(ctx)
            offered = plugin_names("kstreams.commands") if open_to_plugins else ()
            return [*own, *(name for name in offered if name not in self.commands)]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401  # as above
            """Return a command; None if neither the group nor an installed package has it."""
            found = super().get_command(ctx, cmd_name)
            offered = open_to_plugins and cmd_name in plugin_names("kstreams.commands")
            if found is not None or not offered:
                return found
            return _made(cmd_name, load_plugin("kstreams.commands", cmd_name))

    return LateGroup


class _Commands(UserDict[str, Any]):
    """Commands by name; a command that is not loaded yet is a text, MODULE:NAME."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # typer's classes are its own
        found = super().__getitem__(name)
        if isinstance(found, str):
            module, _, function = found.partition(":")
            command = getattr(import_module(f"kstreams_cli.{module}"), function)
            found = self[name] = _made(name, command)
        return found


def _made(name: str, function: Any) -> Any:  # noqa: ANN401  # typer's classes are its own
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    add_command(alone, name, function)
    return get_command(alone)
