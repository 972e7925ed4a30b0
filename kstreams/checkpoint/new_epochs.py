"""The next epoch of a query after its state was rewritten."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.backend.working import Pair, StoreChanges, WorkingStore
from kstreams.state.log.commits import SEED
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer, version_id_after
from kstreams.state.log.snapshot import write_snapshot

__all__ = (
    "copy_store",
    "epochs_after",
    "first_epoch_number",
    "next_epoch_number",
    "rewritten",
    "with_changelogs_of",
)

_ROWS_AT_ONCE = 10_000


def next_epoch_number(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> int:
    """Return the next epoch number of a query; skip numbers that have commits.

    A killed upgrade may have left such commits.
    """
    return _unused(checkpoint, query, checkpoint.epoch_numbers.get(query, 0) + 1, objects)


def first_epoch_number(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> int:
    """Return the lowest epoch number that has no commits, for a query not in the checkpoint."""
    return _unused(checkpoint, query, 0, objects)


def _unused(checkpoint: Checkpoint, query: str, number: int, objects: ObjectStore) -> int:
    bare = replace(checkpoint, begun={})
    while replace(bare, epoch_numbers={query: number}).commits(query, objects).batches():
        number += 1
    return number


def epochs_after(checkpoint: Checkpoint, ended: Mapping[str, int]) -> dict[str, Mapping[str, int]]:
    """Return `Checkpoint.ended` for the successor of a checkpoint.

    Args:
        checkpoint: The old checkpoint.
        ended: The last committed batch of each query with a new epoch.
    """
    epochs = dict(checkpoint.ended)
    for query, batch in ended.items():
        for group in checkpoint.queries[query]:
            epochs[group] = {**epochs.get(group, {}), checkpoint.epoch(query): batch}
    return epochs


def rewritten(
    log: DurableLog, pointer: Pointer, store: WorkingStore, names: tuple[str, ...]
) -> Pointer:
    """Rewrite the state of a task; return its new version, which follows the pointer.

    Args:
        log: The durable log of the task.
        pointer: The old version; its `meta` is kept.
        store: The new state.
        names: The names of the stores in the new state, sorted.
    """
    attempt = Attempt(new_attempt(), SEED)
    version = replace(
        pointer,
        version=pointer.version + 1,
        version_id=version_id_after(pointer.version_id, sha256(attempt.name.encode()).digest()),
        snapshot=(),
        deltas=(),
        stores=names,
    )
    return write_snapshot(log, version, store, attempt)


def copy_store(source: WorkingStore, target: WorkingStore, store: str) -> None:
    """Copy all rows of a store to the empty store of this name in another working store."""
    rows: list[Pair] = []
    for pair in source.scan(store, None, None):
        rows.append(pair)
        if len(rows) >= _ROWS_AT_ONCE:
            target.write({store: StoreChanges(rows)})
            rows = []
    if rows:
        target.write({store: StoreChanges(rows)})


def with_changelogs_of(meta: Mapping[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """Return a task's metadata with the changelog positions of kept stores only."""
    found = dict(meta)
    for part in ("logs", "log_ids"):
        ours = {name: of for name, of in found.pop(part, {}).items() if name in kept}
        found.update({part: ours} if ours else {})
    return found
