"""`kstreams forecast`: the cost of an app, and the time to restore its state."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.clock import to_ms
from kstreams_cli.consoles import new_table, shown_size, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.moments import parse_span
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams_cli.usage import for_option
from kstreams_forecast.app_forecast import AppForecast, Prices, app_restore_speed, forecast_app

__all__ = ("forecast",)


def forecast(
    app: AppArgument,
    trigger: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN",
            help="Interval between batches to forecast for, such as 10s.",
            show_default="the measured interval",
        ),
    ] = None,
    put_price: Annotated[
        float,
        typer.Option(min=0, metavar="DOLLARS", help="Price of 1,000 PUT requests, in dollars."),
    ] = Prices.puts,
    storage_price: Annotated[
        float,
        typer.Option(
            min=0, metavar="DOLLARS", help="Price of 1 GB of storage per month, in dollars."
        ),
    ] = Prices.storage,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forecast the requests of an app to its durable log, their cost, and the growth of the log.

    All figures are per day. Use it to choose a trigger interval, or before you move a checkpoint to
    object storage. The forecast uses the retained commits (App(retained_batches=...)): their
    writes, including upkeep, and the time between them. More retained commits give a better
    forecast. With a longer --trigger, a task writes one delta instead of several. Requests of
    failed attempts, and the few LIST requests of cleanup, are not counted. The default prices are
    those of S3 in us-east-1; a log on a disk costs nothing.

    The second table has the restore time of each task on a worker without a copy: the size of the
    state divided by a restore speed. The command measures the speed by restoring the largest task
    of at most 64 MiB.

    Example:
        kstreams forecast word-count
        kstreams forecast shop --checkpoint s3://bucket/shop --trigger 10s --json
    """
    with for_option("--trigger"):
        trigger_ms = None if trigger is None else max(1, to_ms(parse_span(trigger)))
    state = AppState.find(app, checkpoint, log)
    objects = state.objects()
    found = forecast_app(
        state.checkpoint,
        objects,
        trigger_ms=trigger_ms,
        prices=Prices(put_price, storage_price),
        speed=app_restore_speed(state.checkpoint, objects),
    )
    if as_json:
        print(json.dumps(found.to_json()))
    else:
        for query in found.lacking:
            stderr().print(
                f"[yellow]query {escape(repr(query))} needs two retained commits to measure[/]"
            )
        _show(found)
    if not found.queries:
        raise typer.Exit(1)


def _show(found: AppForecast) -> None:
    numbers = ("interval", "PUT/batch", "PUT/day", "written/day", "growth/day", "state")
    table = new_table("query", *numbers, "measured", numbers=numbers)
    for each in found.queries:
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
    if found.speed is not None:
        tasks = new_table(
            "task", "objects", "size", "restore time", numbers=("objects", "size", "restore time")
        )
        for task in found.tasks:
            tasks.add_row(
                escape(str(task.task)),
                f"{task.objects:,}",
                shown_size(task.size_bytes),
                f"{task.size_bytes / found.speed:,.1f} s",
            )
        stdout().print(tasks)
    puts, storage = found.puts_dollars_a_day, found.storage_dollars_a_day
    stdout().print(
        f"cost per day on S3: ${puts:,.2f} for PUT requests, ${storage:,.2f} for storage"
    )
