"""How the commit logs of a checkpoint begin: each with an object that says whose it is."""

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
    """Begin a query's commit log, with the state that it stands on if there is any.

    Repeating it changes nothing. It counts once `Checkpoint.begun` has what is returned:
    until then a log that is not there is one that has not begun.

    Args:
        checkpoint: The app's, or what is to become it.
        query: Name of the query.
        objects: The durable log.
        seed: The commit that stands before all batches.

    Returns:
        The digest of the beginning.

    Raises:
        FencedError: The log has another seed.
        LogMismatchError: The log has begun as another.
    """
    log = replace(checkpoint, begun={}).commits(query, objects)
    if seed is not None:
        seed = log.append(seed)
    return _begin(checkpoint, query, objects, seed)


def begin_logs(
    checkpoint: Checkpoint, objects: ObjectStore, lasts: Mapping[str, Commit | None]
) -> Checkpoint:
    """Begin the logs of all queries that have not begun; return the checkpoint that knows.

    That is: the logs of a new checkpoint, and of one from before logs had beginnings.

    Args:
        checkpoint: The app's.
        objects: The durable log.
        lasts: By query, its last commit, if there is one.
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
        checkpoint.incarnation,
        query,
        checkpoint.generations.get(query, 0),
        last.digest if last is not None and last.batch == SEED else "",
    )
    return replace(checkpoint, begun={}).commits(query, objects).begin(beginning)
