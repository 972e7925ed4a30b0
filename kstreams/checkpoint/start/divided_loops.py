"""The records in loops, for another number of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from kstreams.graph.nodes import LoopNode
from kstreams.partitioner import targets
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.log.commits import SEED
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import LoopPart, read_loops, write_loops

__all__ = ("divided_loops",)


def divided_loops(
    objects: ObjectStore,
    prefix: str,
    parts: Sequence[LoopPart],
    divided: Mapping[str, tuple[LoopNode, int]],
) -> tuple[LoopPart, ...]:
    """Return the records in loops by the tasks that own their keys among a new number of tasks.

    Args:
        objects: The durable log.
        prefix: The prefix of new objects: `loops_prefix` of the new epoch.
        parts: The records in loops.
        divided: The loops whose number of tasks changes, by name: node and new number.

    Raises:
        StateCorruptError: Records are missing or have changed.
    """
    kept = [part for part in parts if part.loop not in divided]
    made: list[LoopPart] = []
    for upstream in sorted({part.upstream for part in parts}):
        own = [part for part in parts if part.loop in divided and part.upstream == upstream]
        sent = list(_sent(objects, own, divided))
        made += write_loops(objects, prefix, Attempt(new_attempt(), SEED), upstream, sent)
    return (*kept, *made)


def _sent(
    objects: ObjectStore,
    parts: Sequence[LoopPart],
    divided: Mapping[str, tuple[LoopNode, int]],
) -> Iterator[tuple[str, int, pa.Table]]:
    """Yield loop, new task and records, in the order of the parts."""
    found: dict[tuple[str, int], list[pa.Table]] = {}
    for part, table in zip(parts, read_loops(objects, parts), strict=True):
        node, count = divided[part.loop]
        keys = table.column("key").combine_chunks()
        owners = targets(node.partitioner, keys, count)
        for task in np.unique(owners).tolist():
            rows = table.take(pa.array(np.flatnonzero(owners == task)))
            found.setdefault((part.loop, task), []).append(rows)
    for (loop, task), tables in found.items():
        yield loop, task, pa.concat_tables(tables)
