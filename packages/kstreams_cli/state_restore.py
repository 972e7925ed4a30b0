"""`kstreams state restore`: rebuild stores from their changelog topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.markup import escape

from kstreams.batch.io.open_feed import publish_commit
from kstreams.checkpoint.resume import resume
from kstreams.state.stores.spec import StoreSpec
from kstreams_admin.changelog_restore import ChangelogRestore, Rebuilt
from kstreams_cli.backends import StateOption, state_backend
from kstreams_cli.consoles import counted, stderr, stdout
from kstreams_cli.loading import load_topology
from kstreams_cli.place import Place
from kstreams_cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams_cli.usage import WrongUsageError, for_option

__all__ = ("restore",)


def restore(
    place: Place,
    app: AppArgument,
    topology: Annotated[
        str,
        typer.Option(
            metavar="MODULE:NAME",
            help="Topology of the last run of the app, which defines the stores.",
            show_default=False,
        ),
    ],
    stores: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORE]...",
            help="Stores to rebuild.",
            show_default="all stores with a changelog topic",
        ),
    ] = None,
    from_changelog: Annotated[
        bool,
        typer.Option(
            "--from-changelog",
            help="Rebuild the stores from their changelog topics. This option is required.",
        ),
    ] = False,
    checkpoint: CheckpointOption = None,
    log: LogOption = None,
    state: StateOption = "memory",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Rebuild stores of a stopped app from their changelog topics.

    Use it only if objects of the durable log are lost or damaged; otherwise an app restores its
    state by itself. The command fails while the app runs. It clears the stores and rebuilds them;
    other stores are unchanged. The next run continues from the last committed offsets.

    Example:
        kstreams state restore word-count --from-changelog --topology word_count:topology
        kstreams state restore shop orders --from-changelog --topology shop.app:topology --yes
    """
    if not from_changelog:
        raise WrongUsageError(
            "give --from-changelog, which rebuilds stores from their changelog topics",
            "--from-changelog",
        )
    found = AppState.find(app, checkpoint, log)
    backend = state_backend(state)
    with for_option("--topology"):
        loaded = load_topology(topology)
    lock = found.checkpoint.home.lock()
    lock.acquire()
    try:
        found = AppState.find(app, checkpoint, log)
        objects = found.objects()
        job = ChangelogRestore(
            found.checkpoint, loaded, place.connection, backend, objects, uuid4().hex[:12]
        )
        specs = job.stores(stores or ())
        for spec in specs:
            stderr().print(
                f"Store [bold]{escape(spec.name)}[/] of {escape(app)} will be cleared and rebuilt "
                f"from topic [cyan]{escape(str(spec.changelog))}[/] in {escape(place.label)}."
            )
        if not yes:
            typer.confirm("Rebuild the stores?", abort=True, err=True)
        for query in found.checkpoint.queries:
            last = resume(found.checkpoint, query, objects).last
            if last is not None:
                publish_commit(place.connection, loaded, last, objects)
        total = _shown(job, specs)
    finally:
        lock.release()
    stdout().print(
        f"Rebuilt {counted(len(specs), 'store')} of [bold]{escape(app)}[/] from "
        f"{counted(total, 'record')}."
    )


def _shown(job: ChangelogRestore, specs: Sequence[StoreSpec[Any]]) -> int:
    """Rebuild the stores, and print the progress; return the number of records."""
    total = 0

    def show(rebuilt: Rebuilt) -> None:
        nonlocal total
        total += rebuilt.records if rebuilt.done else 0
        mark = "done" if rebuilt.done else "..."
        stderr().print(
            f"[dim]{escape(rebuilt.store)}, partition {rebuilt.partition}: "
            f"{counted(rebuilt.records, 'record')} {mark}[/]"
        )

    job.run_all(specs, show)
    return total
