"""Conversion of functions to commands: help, error output and shared options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from kstreams.errors import UnknownTopicError
from kstreams_cli.place import (
    BootstrapOption,
    DataOption,
    OptionOption,
    OptionsFileOption,
    Place,
    find_place,
)
from kstreams_cli.problems import show_problem
from kstreams_cli.usage import WrongUsageError, shown_by_typer

__all__ = ("add_command",)

_DebugOption = Annotated[
    bool, typer.Option("--debug", help="Print the full traceback of an error.")
]
_PLACE_OPTIONS: dict[str, object] = {
    "data": DataOption,
    "bootstrap": BootstrapOption,
    "option": OptionOption,
    "options_file": OptionsFileOption,
}


def add_command(group: typer.Typer, name: str, function: Callable[..., None]) -> None:
    """Add a function to a group as a command.

    The docstring is the help, and its part below `Example:` has the examples. Every command takes
    `--debug`; a command with a parameter `place` takes the options for the connection of topics. An
    error ends the command with exit code 1 and a panel; typer reports wrong usage with exit code 2.

    Args:
        group: The group.
        name: The name of the command.
        function: The function; see typer for its parameters.
    """
    text, _, example = inspect.cleandoc(function.__doc__ or "").partition("\nExample:\n")
    lines = [line.strip() for line in example.splitlines() if line.strip()]
    shown = [f"  [dim]$[/] [cyan]{escape(line)}[/]" for line in lines]
    epilog = "\n".join(["[bold]Examples[/]" if len(lines) > 1 else "[bold]Example[/]", *shown])
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    help_text = escape("\n\n".join(paragraphs).strip())
    group.command(name, help=help_text, epilog=epilog if lines else None)(_shielded(function))


def _shielded(function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def run(**given: Any) -> None:  # noqa: ANN401  # whatever typer has parsed
        debug = given.pop("debug")
        with shown_by_typer():
            if takes_place:
                given["place"] = _taken_place(given)
            try:
                function(**given)
            except (WrongUsageError, typer.Exit, typer.Abort, BrokenPipeError):
                raise
            except Exception as exc:  # the user's own code runs in here
                if isinstance(exc, UnknownTopicError) and exc.where.topic and takes_place:
                    exc.hint = given["place"].missing_topic_hint(exc.where.topic)
                show_problem(exc, debug=debug)
                raise typer.Exit(1) from exc

    signature = inspect.signature(function, eval_str=True)
    takes_place = "place" in signature.parameters
    run.__signature__ = _extended(signature)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {}
    return run


def _extended(signature: inspect.Signature) -> inspect.Signature:
    """Add the shared options, and make all parameters keyword-only, as typer passes them."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p.replace(kind=keyword) for p in signature.parameters.values() if p.name != "place"]
    shared: list[inspect.Parameter] = []
    if "place" in signature.parameters:
        shared = [
            inspect.Parameter(name, keyword, default=None, annotation=annotation)
            for name, annotation in _PLACE_OPTIONS.items()
        ]
    debug = inspect.Parameter("debug", keyword, default=False, annotation=_DebugOption)
    return signature.replace(parameters=[*own, debug, *shared])


def _taken_place(given: dict[str, Any]) -> Place:
    data: str | None = given.pop("data")
    bootstrap: str | None = given.pop("bootstrap")
    options: list[str] | None = given.pop("option")
    options_file: Path | None = given.pop("options_file")
    return find_place(data, bootstrap, options, options_file)
