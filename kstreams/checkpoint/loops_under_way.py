"""What an upgrade does with records that are in loops: carries them on, or refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.state.log.commits import Commit
from kstreams.state.log.loop_objects import LoopPart, rows_by_loop

__all__ = ("loop_problems", "loops_of")

_DRAIN = (
    "run the topology of before to its end first (`kstreams run ... --until end`, "
    "App.run(until='end')): then nothing is in it"
)


def loop_problems(
    checkpoint: Checkpoint,
    commits: Iterable[Commit],
    topology: Topology,
    tasks: Mapping[str, int],
) -> Iterator[str]:
    """Yield why records that are in loops cannot be read by a changed topology.

    Args:
        checkpoint: What is there.
        commits: The last commit of each query.
        topology: What is to run.
        tasks: Number of its tasks by group.
    """
    before = _homes(checkpoint.shape)
    now = _homes(topology.shape())
    for commit in commits:
        for loop, count in sorted(rows_by_loop(commit.loops).items()):
            group, form = before[loop]
            found = f"loop {loop!r} has {count:,} records under way"
            if loop not in now:
                yield f"{found}, and is no longer in the topology ({_DRAIN})"
                continue
            home, wanted = now[loop]
            if form != wanted:
                yield f"{found}: they are {_shown(form)}, now {_shown(wanted)} ({_DRAIN})"
            if checkpoint.tasks[group] != tasks[home]:
                yield (
                    f"{found}, for {checkpoint.tasks[group]} tasks, now {tasks[home]}: their "
                    f"keys belong to other tasks ({_DRAIN})"
                )


def loops_of(groups: Iterable[PartitionGroup], commits: Iterable[Commit]) -> tuple[LoopPart, ...]:
    """Return what is under way in the loops that some groups read."""
    names = {loop.name for group in groups for loop in group.loops}
    return tuple(part for commit in commits for part in commit.loops if part.loop in names)


def _homes(shape: Mapping[str, Any]) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the group that reads each loop, and the form of its records."""
    return {
        name: (group, form)
        for group, parts in shape.items()
        for name, form in parts.get("loops", {}).items()
    }


def _shown(form: Mapping[str, str]) -> str:
    return f"{form['key']} and {form['value']} by {form['partitioner']}"
