"""The records in loops during an upgrade: they are kept, or the upgrade is rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.state.log.commits import Commit
from kstreams.state.log.loop_objects import LoopPart, rows_by_loop

__all__ = ("loop_problems", "loops_of")

_DRAIN = (
    "first run the previous topology to its end (`kstreams run ... --until end`, "
    "App.run(until='end')), which empties the loop"
)


def loop_problems(
    checkpoint: Checkpoint,
    commits: Iterable[Commit],
    topology: Topology,
    tasks: Mapping[str, int],
    uneven: Uneven = Uneven(),  # noqa: B008  # frozen
    *,
    divides: bool = False,
) -> Iterator[str]:
    """Yield the reasons why a changed topology cannot read the records that are in loops.

    Args:
        checkpoint: The existing checkpoint.
        commits: The last commit of each query.
        topology: The new topology.
        tasks: The number of the new topology's tasks, by group.
        uneven: Loops with fewer partitions than their group has tasks.
        divides: Whether the records are divided among another number of tasks.
    """
    before = _homes(checkpoint.shape)
    now = _homes(topology.shape())
    for commit in commits:
        for loop, count in sorted(rows_by_loop(commit.loops).items()):
            group, form = before[loop]
            found = f"loop {loop!r} has {count:,} unprocessed records"
            if loop not in now:
                yield f"{found}, and is no longer in the topology ({_DRAIN})"
                continue
            home, wanted = now[loop]
            if form != wanted:
                yield (
                    f"{found}: they are encoded as {_shown(form)}, but the loop now has "
                    f"{_shown(wanted)} ({_DRAIN})"
                )
            before_count = checkpoint.uneven.of_input(loop, checkpoint.tasks[group])
            now_count = uneven.of_input(loop, tasks[home])
            if before_count != now_count and not divides:
                yield (
                    f"{found} for {before_count} tasks, but the loop now has {now_count} tasks: "
                    f"the keys belong to other tasks ({_DRAIN})"
                )


def loops_of(groups: Iterable[PartitionGroup], commits: Iterable[Commit]) -> tuple[LoopPart, ...]:
    """Return the records in the loops that the groups read."""
    names = {loop.name for group in groups for loop in group.loops}
    return tuple(part for commit in commits for part in commit.loops if part.loop in names)


def _homes(shape: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return, by loop, the group that reads it, and the serdes and partitioner of its records."""
    return {
        name: (group, form)
        for group, parts in shape.items()
        for name, form in parts.get("loops", {}).items()
    }


def _shown(form: Mapping[str, str]) -> str:
    return f"{form['key']} and {form['value']} by {form['partitioner']}"
