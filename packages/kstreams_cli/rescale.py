"""`kstreams rescale`: divide the state of a stopped app after a topic has got partitions."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams_admin.rescale import Rescale, RescalePlan
from kstreams_cli.backends import StateOption, state_backend
from kstreams_cli.consoles import counted, shown_size, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.describe import TargetArgument
from kstreams_cli.loading import load_topology
from kstreams_cli.place import Place
from kstreams_cli.stores import AppIdOption, CheckpointOption, LogOption, find_home, load_log
from kstreams_cli.usage import for_option

__all__ = ("rescale",)


def rescale(
    place: Place,
    target: TargetArgument,
    app_id: AppIdOption = None,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    state: StateOption = "memory",
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Expected number of partitions of the topics that have changed. The command "
            "fails if a topic has another number.",
            show_default="the numbers that the topics have",
        ),
    ] = None,
    by_key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STORE",
            help="Divide STORE, which a custom processor writes: its keys are the keys of the "
            "records. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    allow_unread: Annotated[
        bool,
        typer.Option(
            "--allow-unread",
            help="Continue although the old partitions have unread records. The task of the old "
            "partition processes a record without the state of its key, if the key now belongs "
            "to another partition; joins stop with a MisplacedKeyError, unless the topic has "
            "misplaced='count'.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the effect, and change nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Divide the state of a stopped app among the partitions that its topics have now.

    Use it after partitions were added to a topic: keys then belong to other partitions, and their
    state must move with them. The command reads the state of all affected stores, writes it by the
    new partitions, and makes it valid in one step; until then, nothing changes. It fails while the
    app runs; with a checkpoint in object storage, a running app stops before its next batch.

    Example:
        kstreams rescale shop.orders:topology --bootstrap localhost:9092 --dry-run
        kstreams rescale shop.orders:topology --bootstrap localhost:9092 --partitions 12
    """
    with for_option("MODULE:NAME"):
        topology = load_topology(target)
    app = app_id or topology.name
    job = Rescale(
        find_home(app, checkpoint),
        topology,
        place.connection,
        state_backend(state),
        uuid.uuid4().hex,
        RescaleSettings(frozenset(by_key or ()), allow_unread=allow_unread),
        None if log is None else load_log(log),
        partitions,
    )
    plan = job.plan()
    if not as_json:
        _show(app, plan)
    made = None if dry_run or plan.problems else job.apply()
    if as_json:
        print(json.dumps({"app": app, "applied": made is not None, **asdict(plan)}))
    elif made is not None:
        tasks = ", ".join(f"{group}: {count}" for group, count in sorted(made.tasks.items()))
        stdout().print(f"Rescaled [bold]{escape(app)}[/]; tasks by group: {escape(tasks)}.")
    if plan.problems:
        raise typer.Exit(1)


def _show(app: str, plan: RescalePlan) -> None:
    for store in plan.stores:
        stdout().print(
            f"store {escape(repr(store.store))} of group {escape(repr(store.group))}: "
            f"{store.before} partitions to {store.now}, {counted(store.rows, 'row')}, "
            f"{store.moved:,} to another task",
            soft_wrap=True,
        )
    for group, size in plan.state_bytes.items():
        stdout().print(f"group {escape(repr(group))}: {shown_size(size)} to divide")
    for unread in plan.unread:
        stderr().print(
            f"[yellow]topic {escape(repr(unread.topic))}: {counted(unread.records, 'record')} "
            "unread in old partitions[/]"
        )
    for problem in plan.problems:
        stderr().print(f"[red]✗[/] {escape(problem)}", soft_wrap=True)
    if plan.problems:
        stderr().print(f"[red]{escape(app)} cannot be rescaled; nothing was changed.[/]")
    elif not plan.stores:
        stderr().print("No store needs to be divided.")
