"""What the tasks of a new checkpoint begin with: a savepoint of an app."""

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
    """The state of an app's tasks, which tasks of the same names take over.

    Workers read it, in the first batch of each task: a client of Spark Connect may not see the
    storage. Nothing of the original's is changed.

    Attributes:
        source: The savepoint.
        shape: `Topology.shape` of what takes it over.
        tasks: How many tasks that has, by group.
    """

    source: ForkSource
    shape: Mapping[str, Any]
    tasks: Mapping[str, int]

    def begin(self, task: TaskId, key: TaskKey, log: ObjectStore) -> str | None:
        """Copy a task's state, if the app had one for it.

        Args:
            task: The task.
            key: What its state is called in the log.
            log: The durable log that is to have it.

        Returns:
            The pointer of the copy, as JSON text.

        Raises:
            NoCheckpointError: There is no checkpoint of an app.
            SavepointError: It has no such savepoint.
            CheckpointMismatchError: It is of another topology, or of other numbers of tasks.
            StateCorruptError: An object of the savepoint is not what it was.
        """
        savepoint, theirs = self.source.load()
        origin = savepoint.checkpoint
        misread = tuple(misread_stores(parameters_in(origin.shape), parameters_in(self.shape)))
        if misread:
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} has stores that would be misread: "
                + "; ".join(misread),
                hint="Upgrade the app to this topology first, and make a savepoint of that.",
            )
        if without_parameters(origin.shape) != without_parameters(self.shape):
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} is of another topology: its sources, edges or "
                "stores differ",
                hint="Upgrade the app to this topology first, and make a savepoint of that.",
            )
        if dict(origin.tasks) != dict(self.tasks):
            raise CheckpointMismatchError(
                f"savepoint {str(self.source)!r} has tasks by group {dict(origin.tasks)}, here "
                f"they are {dict(self.tasks)}",
                hint="Give tasks= the app's number of partitions: the state of a key lies in its "
                "task.",
            )
        for commit in savepoint.commits.values():
            if task in commit.tasks:
                pointer = Pointer.from_json(commit.tasks[task])
                return copied_state(theirs, log, pointer, key, offsets=False).to_json()
        return None


def starting_offsets(fork: str | ForkSource) -> str:
    """Return where reading goes on after a savepoint: `startingOffsets` of Spark's Kafka source.

    Args:
        fork: The savepoint, as `transform_frames` takes it.

    Returns:
        For each topic that the app reads the offsets of its partitions, as JSON.

    Raises:
        NoCheckpointError: There is no checkpoint of an app.
        SavepointError: It has no such savepoint; or two queries of the app, which read one
            topic, had come to different offsets when it was made.
    """
    source = ForkSource.parse(fork) if isinstance(fork, str) else fork
    savepoint, _ = source.load()
    found: dict[str, dict[str, int]] = {}
    for commit in savepoint.commits.values():
        for place, offset in positions_after(commit).items():
            known = found.setdefault(place.topic, {}).setdefault(str(place.partition), offset)
            if known != offset:
                raise SavepointError(
                    f"two queries of the app read {place.topic!r}, and had come to offsets {known} "
                    f"and {offset} of partition {place.partition} when {str(source)!r} was made",
                    hint="Make the savepoint when the app has read all that there is.",
                )
    return json.dumps(found, sort_keys=True)
