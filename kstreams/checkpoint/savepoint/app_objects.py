"""The objects of an app in a durable log, and objects that are no longer needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from urllib.parse import quote

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import pinned_objects
from kstreams.ids import TaskId
from kstreams.names import is_checkpoint_id
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import (
    app_prefix,
    garbage_prefix,
    loops_prefix,
    packs_prefix,
)
from kstreams.state.log.loop_objects import object_names

__all__ = ("epoch_objects", "named_elsewhere", "remove_leftovers")

_LOG = logging.getLogger(__name__)


def epoch_objects(objects: ObjectStore, app: str, checkpoint_id: str) -> Iterator[str]:
    """Yield the names of all objects of a checkpoint id: state, commits and savepoints.

    Args:
        objects: A durable log, which other apps may share.
        app: The app id.
        checkpoint_id: The checkpoint id.
    """
    epoch = f"{app}.{checkpoint_id}"
    yield from _names_below(objects, app_prefix(f"{epoch}.").removesuffix("/"))
    yield from _names_below(objects, f"commits/{quote(f'{epoch}.', safe='')}")
    yield from objects.list(f"savepoints/{quote(epoch, safe='')}/")


def _names_below(objects: ObjectStore, prefix: str) -> Iterator[str]:
    """Yield names with the prefix of a checkpoint id, except names that may belong to another app.

    An app id may look like an app id with a checkpoint id: `a.0123456789ab`. The names of this
    app's objects begin like those of app `a`, with a checkpoint id in place of a query name.
    """
    for name in objects.list(prefix):
        state_name, dot, _ = name[len(prefix) :].partition("/")[0].partition(".")
        if not (dot and is_checkpoint_id(state_name)):
            yield name


def _named_objects(checkpoint: Checkpoint, objects: ObjectStore) -> set[str]:
    """Return the names of all objects that an app's retained commits and savepoints refer to."""
    named = {
        name
        for query in checkpoint.queries
        for commit in checkpoint.commits(query, objects).all()
        for name in commit.objects()
    }
    return named | pinned_objects(checkpoint, objects)


def named_elsewhere(checkpoint: Checkpoint, objects: ObjectStore, query: str) -> set[str]:
    """Return the names of objects that a query's cleanup must keep beyond its own commits.

    These are the objects of savepoints, and objects that commits of other queries refer to,
    because an upgrade has moved tasks or loops to another query without renaming their objects.
    """
    named = pinned_objects(checkpoint, objects)
    for other in checkpoint.queries:
        for commit in checkpoint.commits(other, objects).all() if other != query else ():
            packs = packs_prefix(checkpoint.state_name(other))
            moved = {
                ref.name
                for task, pointer in commit.pointers().items()
                for ref in pointer.objects()
                if not ref.name.startswith((packs, checkpoint.task_key(other, task).prefix))
            }
            own = loops_prefix(checkpoint.state_name(other))
            moved.update(n for n in object_names(commit.loops) if not n.startswith(own))
            if not moved:  # then no later one has any
                break
            named |= moved
    return named


def remove_leftovers(checkpoint: Checkpoint, objects: ObjectStore) -> int:
    """Delete the leftovers of upgrades; return the number of deleted objects.

    Leftovers are commits of earlier epochs and of removed queries, and the state of removed tasks,
    unless a retained commit or a savepoint refers to them. Call it under the app's lock, before
    its queries start. `collect_garbage` deletes unused objects of existing tasks.

    Args:
        checkpoint: The current checkpoint of the app.
        objects: The durable log of the app.
    """
    epoch = f"{checkpoint.app}.{checkpoint.checkpoint_id}."
    state_names = {query: checkpoint.state_name(query) for query in checkpoint.queries}
    logs = tuple(checkpoint.commits(query, objects).prefix for query in state_names)
    commits = _names_below(objects, f"commits/{quote(epoch, safe='')}")
    # Commits first: a savepoint that finds its commits in the log is seen below.
    count = _delete(objects, (name for name in commits if not name.startswith(logs)))
    tasks = {
        checkpoint.task_key(query, TaskId(group, number)).prefix
        for query, groups in checkpoint.queries.items()
        for group in groups
        for number in range(checkpoint.tasks[group])
    }
    present = (
        *sorted(tasks),
        *(garbage_prefix(state_name) for state_name in state_names.values()),
        *(packs_prefix(state_name) for state_name in state_names.values()),
        *(
            loops_prefix(state_name, checkpoint.epoch(query))
            for query, state_name in state_names.items()
        ),
    )
    state = _names_below(objects, app_prefix(epoch).removesuffix("/"))
    strange = [name for name in state if not name.startswith(present)]
    if strange:
        named = _named_objects(checkpoint, objects)
        count += _delete(objects, (name for name in strange if name not in named))
    if count:
        _LOG.info("app %s: removed %d objects of what is gone", checkpoint.app, count)
    return count


def _delete(objects: ObjectStore, names: Iterator[str]) -> int:
    found = list(names)
    objects.delete(found)
    return len(found)
