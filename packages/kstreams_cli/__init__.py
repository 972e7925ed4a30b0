"""The command line: `kstreams topics`, `state`, `run`, `describe`, `reset`.

Read `kstreams_cli.program` first, which lists the commands; each command has its own file. Needs
the extra `cli`; the rest of the library does not import this package.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ("main",)


def main() -> None:
    """Run the command line with the arguments of this process; ends the process."""
    try:
        program = import_module("kstreams_cli.program")
    except ImportError as exc:
        if exc.name not in ("typer", "rich"):
            raise
        raise SystemExit(str(exc)) from None
    program.PROGRAM(prog_name="kstreams")
