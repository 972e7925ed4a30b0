"""`kstreams plan`: the effects of a start of a topology on an app's state, in advance."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import Any

import typer
from rich.markup import escape

from kstreams.batch.task_counts import count_partitions, count_records, topic_span
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.changes import StoreChangeKind, UpgradePlan
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.checkpoint.start.upgrade import Upgrade, upgrade_plan
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.errors import NoCheckpointError
from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStore
from kstreams_admin.status import query_statuses
from kstreams_cli.consoles import shown_size, stderr, stdout
from kstreams_cli.counts import JsonOption
from kstreams_cli.describe import TargetArgument
from kstreams_cli.loading import load_topology
from kstreams_cli.place import Place
from kstreams_cli.stores import AppIdOption, CheckpointOption, LogOption, find_home, load_log
from kstreams_cli.upgrading import (
    MigrateOption,
    MorePartitions,
    MorePartitionsOption,
    RenameOption,
    ResetOption,
    StoreDecisions,
    this_command,
)
from kstreams_cli.usage import for_option

__all__ = ("plan",)

_CHANGES = 3
"""The exit code if the app starts and its state is changed."""


def plan(
    context: typer.Context,
    place: Place,
    target: TargetArgument,
    app_id: AppIdOption = None,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    reset: ResetOption = None,
    rename: RenameOption = None,
    migrate: MigrateOption = None,
    on_more_partitions: MorePartitionsOption = MorePartitions.REFUSE,
    as_json: JsonOption = False,
) -> None:
    """Show the effects of starting a topology on the state of an app, without changing it.

    Use it before you deploy a changed topology. The app may run meanwhile. The command reads the
    partitions of topics, as a start does.

    Exit codes: 0, the app would start and keep all state; 3, the app would start, and state would
    be emptied, dropped, migrated or divided; 1, the start would be rejected, or the command failed;
    2, wrong usage.

    Example:
        kstreams plan shop.orders:topology --bootstrap localhost:9092
        kstreams plan shop.orders:topology --reset totals --json | jq .stores
        kstreams plan shop.orders:topology --rename totals=sums
        kstreams plan shop.orders:topology --on-more-partitions rescale
    """
    with for_option("MODULE:NAME"):
        topology = load_topology(target)
    app = app_id or topology.name
    counts = count_partitions(place.connection, topology)
    tasks = counts.tasks
    home = find_home(app, checkpoint)
    try:
        found = Checkpoint.load(home)
    except NoCheckpointError:
        _show_fresh(app, home, tasks, as_json=as_json)
        return
    objects = (found.log if log is None else load_log(log)).open()
    decided = StoreDecisions.of(topology, reset, rename, migrate)
    rescales = on_more_partitions is MorePartitions.RESCALE
    settings = AppSettings(
        app,
        home,
        migrate=decided.migrate,
        reset=decided.reset,
        on_more_partitions=RescaleSettings(only_more=True) if rescales else "refuse",
    )
    wanted = Upgrade(
        settings,
        topology,
        tasks,
        objects,
        uuid.uuid4().hex,
        partial(count_records, place.connection, topology),
        uneven=counts.uneven,
        span=partial(topic_span, place.connection, topology),
    )
    made = upgrade_plan(found, wanted)
    sizes = _sizes(found, objects)
    if as_json:
        print(json.dumps(_plain(app, made, tasks, sizes)))
    else:
        _show(app, made, topology, sizes)
        if made.options:
            command = f"{this_command(context)} {' '.join(made.options)}"
            stderr().print(f"Hint: {escape(command)}", soft_wrap=True)
    if made.problems:
        raise typer.Exit(1)
    if _changes_state(made):
        raise typer.Exit(_CHANGES)


def _changes_state(made: UpgradePlan) -> bool:
    """Return whether a store's contents are lost, migrated or divided; a new store has none."""
    return any(
        change.action != "keep" and change.verdict is not StoreChangeKind.NEW
        for change in made.stores
    ) or any(change.action == "migrate" for change in made.stores)


def _sizes(checkpoint: Checkpoint, objects: ObjectStore) -> dict[str, int]:
    """Return the number of bytes that a restore of all tasks of a group reads, by group."""
    found: dict[str, int] = {}
    for status in query_statuses(checkpoint, objects):
        for task, size in status.state_bytes.items():
            found[task.group] = found.get(task.group, 0) + size
    return found


def _show_fresh(app: str, home: CheckpointHome, tasks: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"app": app, "fresh": True, "tasks": tasks, "stores": [], "notes": [],
                          "problems": [], "options": [], "restores_bytes": {}}))  # fmt: skip
        return
    stdout().print(f"{escape(app)} would start fresh: no checkpoint exists at {escape(str(home))}.")


def _show(app: str, made: UpgradePlan, topology: Topology, sizes: dict[str, int]) -> None:
    for line in made.lines():
        stdout().print(escape(line))
    for group in topology.groups:
        if group.stores and sizes.get(group.name):
            size = shown_size(sizes[group.name])
            stdout().print(
                f"group {escape(repr(group.name))}: {size} to restore on workers without a copy"
            )
    for problem in made.problems:
        stderr().print(f"[red]✗[/] {escape(problem)}")
    if made.problems:
        stderr().print(f"[red]{escape(app)} would not start; nothing would change.[/]")
    elif _changes_state(made):
        stderr().print(f"[yellow]{escape(app)} would start, and its state would change.[/]")
    else:
        stderr().print(f"[green]✓[/] {escape(app)} would start and keep all state.")


def _plain(
    app: str, made: UpgradePlan, tasks: dict[str, int], sizes: dict[str, int]
) -> dict[str, Any]:
    return {
        "app": app,
        "fresh": False,
        "tasks": tasks,
        "stores": [
            {
                "store": change.store,
                "change": change.verdict.value,
                "detail": change.detail,
                "action": change.action or None,
            }
            for change in made.stores
        ],
        "notes": list(made.notes),
        "problems": list(made.problems),
        "options": list(made.options),
        "restores_bytes": sizes,
    }
