"""One query owns a state: the one that was started last.

A query's state is named by the query's id, which a copy of its checkpoint has as well. Attempts
never share an object, so two queries would not spoil each other's results; but each would remove
what the other still needs. So each start of a query leaves its name, and older ones end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kstreams.errors import FencedError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import app_prefix

__all__ = ("Ownership",)

_KEPT = 20
"""Names of starts that stay."""


@dataclass
class Ownership:
    """What a worker knows of who owns which state.

    Attributes:
        since_ms: By scope and run, the wall time of the first batch that the worker saw of it.
    """

    since_ms: dict[tuple[str, str], int] = field(default_factory=dict)
    _checked: dict[str, tuple[str, int]] = field(default_factory=dict)

    def check(self, log: ObjectStore, scope: str, run: str, batch: int, wall_ms: int) -> int:
        """Make sure that a query's start is the last one; take the state over at its first batch.

        One listing of the log a batch and worker.

        Args:
            log: The durable log.
            scope: Name of the state there.
            run: Id of the start.
            batch: Number of the batch.
            wall_ms: The batch's wall time, ms since the epoch.

        Returns:
            The wall time of the first batch of this start that the worker saw.

        Raises:
            FencedError: The query was started again since, or a copy of its checkpoint was.
        """
        since = self.since_ms.setdefault((scope, run), wall_ms)
        if self._checked.get(scope) == (run, batch):
            return since
        prefix = f"{app_prefix(scope)}owners/"
        names = list(log.list(prefix))
        if not any(_run_of(name) == run for name in names):
            number = int(names[-1][len(prefix) :].partition("-")[0]) + 1 if names else 0
            log.put_if_absent(f"{prefix}{number:020d}-{run}", b"")
            names = list(log.list(prefix))
            log.delete(names[:-_KEPT])
        if _run_of(names[-1]) != run:
            raise FencedError(
                f"another query has taken over the state {scope!r}: this one was started again, "
                "or a copy of its checkpoint was",
                hint="Run one of them; to run both, begin one with a checkpoint of its own.",
            )
        self._checked[scope] = run, batch
        return since


def _run_of(name: str) -> str:
    return name.rpartition("/")[2].partition("-")[2]
