"""Ownership of a query's state in the durable log: the query that was started last owns it.

Two queries could use one state, because a copied checkpoint has the same state name. They would not
overwrite each other's objects, whose names are unique to an attempt, but each would remove objects
that the other one needs. So each start writes its id to the log, and queries of older starts fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kstreams.errors import FencedError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, app_prefix

__all__ = ("Ownership", "begin_state")

_KEPT = 20
"""The number of retained names of starts."""


@dataclass
class Ownership:
    """Checks in a worker that a query still owns its state.

    Attributes:
        since_ms: The wall time (ms since the epoch) of the first batch that this worker ran, by
            the name of the state and the id of the query's start.
    """

    since_ms: dict[tuple[str, str], int] = field(default_factory=dict)
    _checked: dict[str, tuple[str, int]] = field(default_factory=dict)

    def check(self, log: ObjectStore, state_name: str, start: str, wall_ms: int) -> int:
        """Check that a query's start is the latest one; take over the state in its first batch.

        The check lists objects of the log once per batch and worker.

        Args:
            log: The durable log.
            state_name: Name of the state in the log.
            start: Id of the query's start.
            wall_ms: The batch's wall time, ms since the epoch.

        Returns:
            The wall time of the first batch of this start that this worker ran, ms since the epoch.

        Raises:
            FencedError: The query, or a copy of it, was started later.
        """
        since = self.since_ms.setdefault((state_name, start), wall_ms)
        if self._checked.get(state_name) == (start, wall_ms):
            return since
        prefix = f"{app_prefix(state_name)}owners/"
        names = list(log.list(prefix))
        if not any(_start_of(name) == start for name in names):
            number = int(names[-1][len(prefix) :].partition("-")[0]) + 1 if names else 0
            log.put_if_absent(f"{prefix}{number:020d}-{start}", b"")
            names = list(log.list(prefix))
            log.delete(names[:-_KEPT])
        if _start_of(names[-1]) != start:
            raise FencedError(
                f"another query has taken over the state {state_name!r}: the query was started "
                "twice, or from a copy of its checkpoint",
                hint="Stop one of the two queries; to run both, start one with a new checkpoint "
                "location.",
            )
        self._checked[state_name] = start, wall_ms
        return since


def begin_state(log: ObjectStore, task: TaskKey, wall_ms: int) -> None:
    """Claim the name of a task's state, in the first batch in which a checkpoint has the task.

    Args:
        log: The durable log.
        task: The task whose state is claimed.
        wall_ms: The wall time of the batch, ms since the epoch; equal if the batch is repeated.

    Raises:
        FencedError: Another checkpoint was begun with the same DataFrame.
    """
    name = f"{app_prefix(task.app)}begun/{task.prefix.removeprefix(app_prefix(task.app))}at"
    own = str(wall_ms).encode()
    if not log.put_if_absent(name, own) and log.get(name) != own:
        raise FencedError(
            f"the state {task.app!r} belongs to another query on the same DataFrame with another "
            "checkpoint",
            hint="Create the DataFrame of the results again for each checkpoint: results.all, "
            "results[TOPIC] or write_each(results, ...).",
        )


def _start_of(name: str) -> str:
    return name.rpartition("/")[2].partition("-")[2]
