"""The command line: `kstreams topics`, `state`, `run`, `describe`, `reset`.

Read `kstreams_cli.program` first, which lists the commands, one a file. Needs the extra
`cli`; nothing of the library imports this package.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ("main",)


def main() -> None:
    """Run the command line on this process's arguments; ends the process."""
    try:
        program = import_module("kstreams_cli.program")
    except ImportError as exc:
        if exc.name not in ("typer", "rich"):
            raise
        raise SystemExit(str(exc)) from None
    program.PROGRAM(prog_name="kstreams")
