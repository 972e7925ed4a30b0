"""The initial state of a new checkpoint's tasks from a savepoint of an app."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kstreams.checkpoint.parameter_notes import misread_stores
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.savepoint.copied_state import copied_state
from kstreams.checkpoint.savepoint.fork import ForkSource
from kstreams.errors import CheckpointMismatchError, SavepointError
from kstreams.graph.topology import parameters_in, without_parameters
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.pointer import Pointer

__all__ = ("Inherited", "starting_offsets")


@dataclass(frozen=True)
class Inherited:
    """A savepoint of an app, from which tasks of the same group and number copy their state.

    Workers read the savepoint in the first batch of each task, because a client of Spark Connect
    may have no access to the storage. The original is not changed.

    Attributes:
        source: The savepoint from which tasks copy their state.
        shape: The `Topology.shape` of the new topology.
        tasks: The number of new tasks, by group.
    """

    source: ForkSource
    shape: Mapping[str, Any]
    tasks: Mapping[str, int]

    def begin(self, task: TaskId, key: TaskKey, log: ObjectStore) -> str | None:
        """Copy the state of a task, if the app has one for it.

        Args:
            task: The group and the number of the task.
            key: The name of the state in the log.
            log: The durable log for the copy.

        Returns:
            The pointer of the copy, as JSON text; None if the app has no state for the task.

        Raises:
            NoCheckpointError: There is no checkpoint of an app.
            SavepointError: The app does not have the savepoint.
            CheckpointMismatchError: The savepoint belongs to another topology, or has other numbers
                of tasks.
            StateCorruptError: An object of the savepoint has changed.
        """
        savepoint, theirs = self.source.load()
        origin = savepoint.checkpoint
        misread = tuple(misread_stores(parameters_in(origin.shape), parameters_in(self.shape)))
        if misread:
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} has stores that would be misread: "
                + "; ".join(misread),
                hint="Upgrade the app to this topology first, and fork a savepoint of the "
                "upgraded app.",
            )
        if without_parameters(origin.shape) != without_parameters(self.shape):
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} belongs to another topology: its sources, edges "
                "or stores differ",
                hint="Upgrade the app to this topology first, and fork a savepoint of the "
                "upgraded app.",
            )
        if dict(origin.tasks) != dict(self.tasks):
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} has tasks by group {dict(origin.tasks)}, but the "
                f"DataFrames have {dict(self.tasks)}",
                hint="Set tasks= to the app's number of partitions: the state of a key belongs to "
                "one task.",
            )
        for commit in savepoint.commits.values():
            if task in commit.tasks:
                pointer = Pointer.from_json(commit.tasks[task])
                return copied_state(theirs, log, pointer, key, offsets=False).to_json()
        return None


def starting_offsets(fork: str | ForkSource) -> str:
    """Return the offsets after a savepoint as `startingOffsets` of Spark's Kafka source.

    Args:
        fork: The savepoint, as for `transform_frames`.

    Returns:
        The offsets of each partition, for each topic that the app reads, as JSON.

    Raises:
        NoCheckpointError: There is no checkpoint of an app.
        SavepointError: The app does not have the savepoint; or two queries that read the same topic
            had different offsets at the savepoint.
    """
    source = ForkSource.parse(fork) if isinstance(fork, str) else fork
    savepoint, _ = source.load()
    found: dict[str, dict[str, int]] = {}
    for commit in savepoint.commits.values():
        for place, offset in positions_after(commit).items():
            known = found.setdefault(place.topic, {}).setdefault(str(place.partition), offset)
            if known != offset:
                raise SavepointError(
                    f"two queries of the app read topic {place.topic!r}, and savepoint "
                    f"{str(source)!r} has different offsets of partition {place.partition} for "
                    f"them: {known} and {offset}",
                    hint="Make a savepoint after the app has read all records of the topic.",
                )
    return json.dumps(found, sort_keys=True)
