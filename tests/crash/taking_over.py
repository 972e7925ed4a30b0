"""What a start does where a checkpoint has no lock."""

from __future__ import annotations

from kstreams import Embedded
from kstreams.batch.embedded.io import publish
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import Resumption
from kstreams.checkpoint.takeover import take_over
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("taken_over",)


def taken_over(
    connection: Embedded, checkpoint: Checkpoint, objects: ObjectStore, run: str
) -> dict[str, Resumption]:
    """Take all queries of a checkpoint over from the driver before, if it has no lock."""

    def show(last: Commit) -> None:
        publish(connection.log(), last.outputs, last.batch)

    return {
        query: take_over(checkpoint, query, objects, run=run, publish=show)
        for query in (checkpoint.queries if checkpoint.home.takes_over else ())
    }
