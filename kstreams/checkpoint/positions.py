"""Where reading goes on, as a commit knows it."""

from __future__ import annotations

from kstreams.ids import TopicPartition
from kstreams.state.log.commits import Commit
from kstreams.task.meta import TaskMeta

__all__ = ("positions_after",)


def positions_after(commit: Commit) -> dict[TopicPartition, int]:
    """Return the first offset not processed yet of each partition.

    What a task's pointer says belongs to its state, and wins. Where several tasks read one
    partition it is the lowest: each skips what it has had.
    """
    own: dict[TopicPartition, int] = {}
    for pointer in commit.pointers().values():
        for place, offset in TaskMeta.from_json(pointer.meta).next_offsets.items():
            own[place] = min(offset, own.get(place, offset))
    return {**commit.positions, **own}
