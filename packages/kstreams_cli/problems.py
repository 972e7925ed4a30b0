"""Output of errors on the console, with hints."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from kstreams.errors import KStreamsError, ProcessingError
from kstreams.quoting import kind_of, safe_end, safe_text, text_of, traceback_of
from kstreams.user_code import library_folders
from kstreams_cli.consoles import stderr

__all__ = ("show_problem",)


def show_problem(error: Exception, *, debug: bool) -> None:
    """Write an error to stderr: a panel on a terminal, plain lines elsewhere.

    Args:
        error: The error that ended the command.
        debug: Whether to write the whole traceback above the error.
    """
    console = stderr()
    if debug:
        console.print(Text(traceback_of(error).rstrip()), style="dim")
    body, hint = _body(error, debug=debug)
    title = kind_of(error)
    if not console.is_terminal:
        console.print(Text(f"{title}: {body.plain}" + (f"\nHint: {hint}" if hint else "")))
        return
    if hint:
        body.append("\n\nHint: ", style="bold green").append(hint)
    console.print(
        Panel(
            body,
            title=f"[bold]{escape(title)}[/]",
            title_align="left",
            border_style="red",
            padding=(1, 2),
        )
    )


def _body(error: Exception, *, debug: bool) -> tuple[Text, str]:
    if isinstance(error, KStreamsError):
        body = Text(safe_text(text_of(error.args[0] if error.args else error.message)))
        place = str(error.where)
        if place:
            body.append(f"\nat {place}", style="cyan")
        if isinstance(error, ProcessingError) and error.cause_traceback:
            body.append(f"\n\n{safe_end(error.cause_traceback).rstrip()}", style="dim")
        return body, safe_text(text_of(error.hint))
    body = Text(safe_text(text_of(error)) or "no message")
    frame = _own_frame(error)
    if frame:
        body.append(f"\nat {frame}", style="cyan")
    return body, "" if debug else "run the command with --debug to print the traceback."


def _own_frame(error: Exception) -> str:
    """Return the innermost traceback line in the user's code."""
    paths = sysconfig.get_paths()
    installed = [
        *library_folders(),
        *(Path(paths[kind]) for kind in ("stdlib", "purelib", "platlib")),
    ]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not any(file.is_relative_to(root) for root in installed):
            return f"{file}, line {frame.lineno}, in {frame.name}"
    return ""
