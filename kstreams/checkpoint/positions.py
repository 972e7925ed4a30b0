"""Where reading goes on, as a commit knows it."""

from __future__ import annotations

from kstreams.state.log.commits import Commit

__all__ = ("positions_after",)


def positions_after(commit: Commit) -> dict[str, int]:
    """Return the first offset not processed yet, by `topic/partition`.

    What a task's pointer says belongs to its state, and wins. Where several tasks read one
    partition it is the lowest: each skips what it has had.
    """
    own: dict[str, int] = {}
    for pointer in commit.pointers().values():
        for place, offset in pointer.meta.get("next", {}).items():
            own[place] = min(offset, own.get(place, offset))
    return {**commit.positions, **own}
