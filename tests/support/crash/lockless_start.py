"""The start of a driver on a checkpoint that has no lock."""

from __future__ import annotations

from contextlib import closing

from kstreams.batch.io.open_feed import feed_of
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import Resumption
from kstreams.checkpoint.takeover import take_over
from kstreams.connection import Connection
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit

__all__ = ("taken_over",)


def taken_over(
    connection: Connection, checkpoint: Checkpoint, objects: ObjectStore, run: str
) -> dict[str, Resumption]:
    """Take over all queries of a checkpoint from the previous driver, if the checkpoint has no
    lock.
    """

    def show(last: Commit) -> None:
        with closing(feed_of(connection)) as feed:
            feed.publish(last, objects, lambda: None)

    return {
        query: take_over(checkpoint, query, objects, run=run, publish=show)
        for query in (checkpoint.queries if checkpoint.home.takes_over else ())
    }
