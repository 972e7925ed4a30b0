"""The report of a shadow as a table, and `kstreams shadow status`."""

from __future__ import annotations

import json

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from kstreams.errors import NoCheckpointError
from kstreams_cli.consoles import counted, new_table, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.shadow_options import ShadowOption, shadow_home
from kstreams_cli.stores import AppArgument
from kstreams_shadow.report import Compared, Report

__all__ = ("report_table", "show_report", "status")

_NUMBERS = ("equal", "different", "only old", "only new")


def status(
    app: AppArgument,
    shadow: ShadowOption = None,
    limit: int = typer.Option(5, min=0, metavar="N", help="Maximum number of examples per row."),
    as_json: JsonOption = False,
) -> None:
    """Show the results of a shadow, running or stopped.

    Use it while `kstreams shadow run` runs in the background. The exit code is 1 if a result or a
    row of a store differs. Rows of stores are those of the last comparison, which `run` makes at
    its end.

    Example:
        kstreams shadow status shop
        kstreams shadow status shop --json
    """
    home = shadow_home(app, shadow)
    described, fields = home.described(), home.read_report()
    if described is None:
        raise NoCheckpointError(
            f"there is no shadow in {str(home.path)!r}",
            hint="start one with `kstreams shadow run`.",
        )
    report = Report() if fields is None else Report.from_json(fields)
    show_report(described.app, report, limit=limit, as_json=as_json)
    if not report.is_equal:
        raise typer.Exit(1)


def show_report(app: str, report: Report, *, limit: int, as_json: bool) -> None:
    """Print a report on standard output.

    Args:
        app: The app id.
        report: The report.
        limit: The maximum number of examples of each sink or store.
        as_json: Whether to print JSON, with all stored examples.
    """
    if as_json:
        print(json.dumps({"app": app, **report.to_json()}))
        return
    stdout().print(report_table(report))
    for label, each in {**report.sinks, **report.stores}.items():
        for example in each.examples[:limit]:
            found = example.difference
            values = (found.verdict, found.key, _value(found.old), _value(found.new))
            verdict, key, old, new = map(escape, values)
            stdout().print(
                f"{escape(label)}, batch {example.batch:,}: [yellow]{verdict}[/], key {key}: "
                f"[red]{old}[/] / [green]{new}[/]",
                soft_wrap=True,
            )
    if report.unlike:
        names = ", ".join(map(repr, report.unlike))
        stdout().print(f"[dim]stores that differ in their definition: {escape(names)}[/]")
    if report.skipped:
        text = counted(report.skipped, "batch")
        stdout().print(f"[dim]{text} were compared with a later one: no longer retained[/]")


def report_table(report: Report) -> RenderableType:
    """Return the numbers of each sink and store as a table."""
    table = new_table("results", *_NUMBERS, numbers=_NUMBERS)
    for name, each in report.sinks.items():
        table.add_row(f"sink {escape(name)}", *_numbers(each))
    for name, each in report.stores.items():
        table.add_row(f"store {escape(name)}", *_numbers(each))
    return Group(table, f"[dim]{counted(report.batches, 'batch')} compared[/]")


def _numbers(compared: Compared) -> list[str]:
    equal, *others = compared.tally.to_json().values()
    return [f"{equal:,}", *(f"[yellow]{n:,}[/]" if n else "0" for n in others)]


def _value(text: str | None) -> str:
    return "nothing" if text is None else text
