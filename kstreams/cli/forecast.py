"""`kstreams forecast`: what will an app cost, and how long will it take to come back?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.cli.consoles import new_table, shown_size, stderr, stdout
from kstreams.cli.counts import JsonOption
from kstreams.cli.moments import parse_span
from kstreams.cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams.cli.usage import for_option
from kstreams.clock import to_ms
from kstreams.forecast.forecasts import QueryForecast, forecast_query, measured_commits
from kstreams.forecast.restore_speed import MOST_BYTES, measured_speed
from kstreams.state.log.commits import Commit

__all__ = ("forecast",)

_PUT_DOLLARS = 0.005
_MONTH_DAYS = 30
_GB_MONTH_DOLLARS = 0.023


def forecast(
    app: AppArgument,
    trigger: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="With this trigger: 10s.", show_default="as it runs"),
    ] = None,
    put_price: Annotated[
        float, typer.Option(min=0, metavar="DOLLARS", help="Of 1,000 PUT requests.")
    ] = _PUT_DOLLARS,
    storage_price: Annotated[
        float, typer.Option(min=0, metavar="DOLLARS", help="Of a GB that is stored for a month.")
    ] = _GB_MONTH_DOLLARS,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an app asks of its durable log in a day, what that costs, and how it grows.

    It is measured by the commits that are retained (App(retained_batches=...)): what they have
    put, upkeep among it, and the time between them; nothing is estimated of the code. The
    longer they reach back, the better. With a longer --trigger a task writes one delta where it
    wrote several. Requests of attempts that failed, and the few LIST of clean-up, are not
    counted. Prices are those of S3 in us-east-1; a log on a disk costs none.

    How long each task takes to come back on a worker without a copy is its size by the speed at
    which one of them, of at most 64 MiB, is read here, now.

    Example:
        kstreams forecast word-count
        kstreams forecast shop --checkpoint s3://bucket/shop --trigger 10s --json
    """
    with for_option("--trigger"):
        trigger_ms = None if trigger is None else max(1, to_ms(parse_span(trigger)))
    state = AppState.find(app, checkpoint, log)
    plans_too = state.checkpoint.home.directory is None
    commits = {
        query: measured_commits(state.checkpoint, query, state.objects())
        for query in state.checkpoint.queries
    }
    found = [
        made
        for query, own in commits.items()
        if (made := forecast_query(query, own, trigger_ms=trigger_ms, plans_too=plans_too))
    ]
    speed = _speed(state, commits)
    dollars = _dollars(found, put_price, storage_price)
    if as_json:
        print(json.dumps(_plain(app, found, speed, dollars)))
    else:
        for query in sorted(commits.keys() - {each.query for each in found}):
            stderr().print(
                f"[yellow]query {escape(repr(query))} has not two commits to measure by[/]"
            )
        _show(found, speed, dollars)
    if not found:
        raise typer.Exit(1)


def _speed(state: AppState, commits: dict[str, list[Commit]]) -> float | None:
    """Restore the largest task that fits; return bytes a second."""
    sized = [
        (pointer.snapshot_bytes + pointer.delta_bytes, query, task, pointer)
        for query, own in commits.items()
        if own
        for task, pointer in own[-1].pointers().items()
    ]
    fitting = [each for each in sized if 0 < each[0] <= MOST_BYTES]
    if not fitting:
        return None
    _, query, task, pointer = max(fitting, key=lambda each: each[:3])
    return measured_speed(pointer, state.checkpoint.task_key(query, task), state.objects())


def _dollars(
    found: Sequence[QueryForecast], put_price: float, storage_price: float
) -> dict[str, float]:
    stored = sum(each.state_bytes for each in found) / 1e9
    return {
        "puts_a_day": sum(each.puts_a_day for each in found) / 1000 * put_price,
        "storage_a_day": stored * storage_price / _MONTH_DAYS,
    }


def _show(found: Sequence[QueryForecast], speed: float | None, dollars: dict[str, float]) -> None:
    numbers = ("every", "PUT a batch", "PUT a day", "written a day", "grows a day", "state")
    table = new_table("query", *numbers, "measured by", numbers=numbers)
    for each in found:
        grows = shown_size(abs(each.growth_bytes_a_day))
        table.add_row(
            f"[cyan]{escape(each.query)}[/]",
            f"{each.interval_ms / 1000:,.2f} s",
            f"{each.puts:,.1f}",
            f"{each.puts_a_day:,.0f}",
            shown_size(each.put_bytes_a_day),
            f"-{grows}" if each.growth_bytes < 0 else grows,
            shown_size(each.state_bytes),
            f"[dim]batches {each.first:,} to {each.last:,}, {each.span_ms / 1000:,.0f} s[/]",
        )
    stdout().print(table)
    if speed is not None:
        tasks = new_table(
            "task", "objects", "size", "restored in", numbers=("objects", "size", "restored in")
        )
        largest = sorted(
            (task for each in found for task in each.tasks),
            key=lambda task: (-task.size_bytes, task.task),
        )
        for task in largest:
            tasks.add_row(
                escape(str(task.task)),
                f"{task.objects:,}",
                shown_size(task.size_bytes),
                f"{task.size_bytes / speed:,.1f} s",
            )
        stdout().print(tasks)
    total = f"${dollars['puts_a_day']:,.2f} of PUT and ${dollars['storage_a_day']:,.2f} of storage"
    stdout().print(f"on S3 a day: {total}")


def _plain(
    app: str, found: Sequence[QueryForecast], speed: float | None, dollars: dict[str, float]
) -> dict[str, object]:
    return {
        "app": app,
        "queries": [
            {
                "query": each.query,
                "first_batch": each.first,
                "last_batch": each.last,
                "span_ms": each.span_ms,
                "interval_ms": each.interval_ms,
                "puts_a_batch": each.puts,
                "puts_a_day": each.puts_a_day,
                "put_bytes_a_day": each.put_bytes_a_day,
                "growth_bytes_a_day": each.growth_bytes_a_day,
                "state_bytes": each.state_bytes,
                "tasks": [
                    {
                        "task": str(task.task),
                        "objects": task.objects,
                        "bytes": task.size_bytes,
                        "restore_seconds": None if speed is None else task.size_bytes / speed,
                    }
                    for task in each.tasks
                ],
            }
            for each in found
        ],
        "restore_bytes_a_second": speed,
        "dollars_a_day": dollars,
    }
