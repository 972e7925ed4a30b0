"""The number of buffered records in a store that a changed topology removes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.errors import StoreKindError
from kstreams.ids import TaskId
from kstreams.scratch import scratch_directory
from kstreams.serde.text import BYTES
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.stores.known_kinds import find_kind
from kstreams.state.stores.spec import StoreSpec

__all__ = ("waiting_records",)


def waiting_records(
    checkpoint: Checkpoint,
    commits: Iterable[Commit],
    objects: ObjectStore,
    backend: StateBackend,
    store: str,
) -> int | None:
    """Return the number of input records that a store buffers; None if its kind buffers none.

    Args:
        checkpoint: The existing checkpoint.
        commits: The last commit of each query.
        objects: The durable log.
        backend: Opens temporary working copies.
        store: Name of the store.
    """
    group, schema = checkpoint.stores()[store]
    try:
        kind = find_kind(schema["kind"])
    except StoreKindError:
        return None  # of a package that is not here any more
    if not kind.holds_input:
        return None
    spec = StoreSpec(store, kind, BYTES, BYTES)
    found = 0
    for commit in commits:
        for task, pointer in commit.pointers().items():
            if task.group == group and store in pointer.stores:
                key = checkpoint.task_key(checkpoint.query_of_group(group), TaskId(*task))
                with scratch_directory() as home:
                    with closing(backend.open(home / "old", list(pointer.stores))) as working:
                        DurableLog(objects, key).restore(pointer, working)
                        found += sum(1 for _ in kind.contents(spec, Overlay(working)))
                    backend.remove(home / "old")
    return found
