"""The first object of each commit log, which identifies its owner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.beginning import Beginning
from kstreams.state.log.commits import SEED, Commit

__all__ = ("begin_log", "begin_logs")


def begin_log(
    checkpoint: Checkpoint, query: str, objects: ObjectStore, seed: Commit | None = None
) -> str:
    """Create the commit log of a query; return the digest of its first object.

    A repeated call changes nothing. The caller must add the result to `Checkpoint.begun`: without
    this entry, a missing log counts as not yet created.

    Args:
        checkpoint: The checkpoint, or the upgraded checkpoint that will replace it.
        query: The name of the query.
        objects: The durable log.
        seed: The initial commit of a fork or upgrade; None without one.

    Returns:
        The digest of the first object.

    Raises:
        FencedError: The log has another initial commit.
        LogMismatchError: The log has another first object.
    """
    log = replace(checkpoint, begun={}).commits(query, objects)
    if seed is not None:
        seed = log.append(seed)
    return _begin(checkpoint, query, objects, seed)


def begin_logs(
    checkpoint: Checkpoint, objects: ObjectStore, lasts: Mapping[str, Commit | None]
) -> Checkpoint:
    """Write the first object of all commit logs without one; return the saved checkpoint.

    These are the logs of new checkpoints, and of checkpoints of earlier versions of the library.

    Args:
        checkpoint: The checkpoint of the app.
        objects: The durable log.
        lasts: The last commit of each query; None without one.
    """
    fresh = [query for query in checkpoint.queries if query not in checkpoint.begun]
    if not fresh:
        return checkpoint
    begun = {query: _begin(checkpoint, query, objects, lasts.get(query)) for query in fresh}
    made = replace(checkpoint, begun={**checkpoint.begun, **begun})
    return made.save()


def _begin(checkpoint: Checkpoint, query: str, objects: ObjectStore, last: Commit | None) -> str:
    beginning = Beginning(
        checkpoint.app,
        checkpoint.checkpoint_id,
        query,
        checkpoint.epoch_numbers.get(query, 0),
        last.digest if last is not None and last.batch == SEED else "",
    )
    return replace(checkpoint, begun={}).commits(query, objects).begin(beginning)
