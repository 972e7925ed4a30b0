"""`kstreams state verify`: is all there that the retained versions are made of?"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import typer
from rich.markup import escape

from kstreams.checkpoint.savepoints import Savepoints
from kstreams.cli.consoles import counted, new_table, stderr, stdout
from kstreams.cli.sizes import shown_size
from kstreams.cli.stores import AppArgument, AppState, CheckpointOption, LogOption
from kstreams.errors import StateCorruptError, StoreError
from kstreams.state.commits import Commit
from kstreams.state.durable import checked_object
from kstreams.state.objects import ObjectStore
from kstreams.state.pointer import ObjectRef

__all__ = ("verify",)

_PARALLEL_READS = 8


def verify(app: AppArgument, checkpoint: CheckpointOption = None, log: LogOption = None) -> None:
    """
    Read every object that the retained versions and savepoints name, and check it.

    Ends with exit code 1 when one is missing, or is not what was committed. What a running
    app's clean-up has collected meanwhile is no problem.

    Example:
        kstreams state verify word-count
    """
    state = AppState.find(app, checkpoint, log)
    objects = state.objects()
    table = new_table(
        "version", "versions", "objects", "size", numbers=("versions", "objects", "size")
    )
    problems: dict[str, str] = {}
    checked: set[ObjectRef] = set()
    for label, commits in _parts(state, objects):
        refs = {r for c in commits for p in c.pointers().values() for r in p.objects()}
        found = _check(objects, refs - checked)
        if not label.startswith("savepoint "):
            found = _still(state, objects, label, found)
        problems |= found
        checked |= refs
        size = sum(ref.size_bytes for ref in refs)
        table.add_row(escape(label), f"{len(commits):,}", f"{len(refs):,}", shown_size(size))
    stdout().print(table)
    for name, problem in sorted(problems.items()):
        stderr().print(f"[red]✗[/] {escape(name)}: {escape(problem)}")
    if problems:
        raise typer.Exit(1)
    stderr().print(f"[green]✓[/] {counted(len(checked), 'object')} are what was committed.")


def _parts(state: AppState, objects: ObjectStore) -> Iterator[tuple[str, list[Commit]]]:
    for query in state.checkpoint.queries:
        log = state.checkpoint.commits(query, objects)
        commits = []
        for batch in log.batches():
            try:
                commits.append(log.at(batch))
            except StateCorruptError:
                raise
            except StoreError:  # collected since it was listed
                continue
        yield query, commits
    for savepoint in Savepoints(state.checkpoint, objects).all():
        yield f"savepoint {savepoint.name}", list(savepoint.commits.values())


def _check(objects: ObjectStore, refs: set[ObjectRef]) -> dict[str, str]:
    def problem(ref: ObjectRef) -> tuple[str, str]:
        try:
            checked_object(objects, ref)
        except StoreError as exc:
            return ref.name, exc.message
        return ref.name, ""

    with ThreadPoolExecutor(_PARALLEL_READS, "kstreams-verify") as pool:
        results = pool.map(problem, sorted(refs, key=lambda ref: ref.name))
        return {name: text for name, text in results if text}


def _still(
    state: AppState, objects: ObjectStore, query: str, found: dict[str, str]
) -> dict[str, str]:
    """Leave out what versions name that are not retained any more."""
    if not found:
        return found
    log = state.checkpoint.commits(query, objects)
    named = {
        ref.name
        for batch in log.batches()
        for pointer in log.at(batch).pointers().values()
        for ref in pointer.objects()
    }
    return {name: text for name, text in found.items() if name in named}
