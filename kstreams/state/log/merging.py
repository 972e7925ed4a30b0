"""Merging of several deltas into one with the same effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kstreams.state.backend.key_ranges import covers, united
from kstreams.state.backend.working import Changes, KeyRange, StoreChanges
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import ObjectRef
from kstreams.state.log.version_ids import Link

__all__ = ("merged_changes", "write_merger")


def write_merger(log: DurableLog, parts: Sequence[ObjectRef], attempt: Attempt) -> ObjectRef:
    """Write the merged delta of a pointer's deltas, and return its reference.

    Args:
        log: The durable log of the task.
        parts: Consecutive deltas of one pointer and one level.
        attempt: The attempt in the name of the object.

    Raises:
        StateCorruptError: A delta is missing or damaged.
        StoreError: The object cannot be written.
    """
    version, level = parts[-1].version, parts[-1].level + 1
    kind = f"{level}.run"
    links: list[Link] = []

    def read() -> Iterator[Changes]:
        for link, changes in log.read_linked(parts):
            links.append(link)
            yield changes

    merged = merged_changes(read())
    data = log.encode(
        merged,
        version,
        attempt,
        links[0].parent,
        kind,
        first=links[0].first,
        version_id=links[-1].version_id,
    )
    return log.put(log.ref(data, version, attempt, kind, level), data)


def merged_changes(all_changes: Iterable[Changes]) -> Changes:
    """Return the combined changes; for each key, the last change wins.

    Deletions of ranges and of single keys stay, because earlier objects may have the deleted keys.

    Args:
        all_changes: The changes, oldest first.
    """
    values: dict[str, dict[bytes, bytes | None]] = {}
    deleted: dict[str, tuple[KeyRange, ...]] = {}
    for changes in all_changes:
        for store, changed in changes.items():
            if changed.ranges:
                ranges = changed.ranges
                known = values.get(store, {}).items()
                values[store] = {key: v for key, v in known if not covers(ranges, key)}
                for each in ranges:
                    deleted[store] = united(deleted.get(store, ()), each)
            values.setdefault(store, {}).update(changed.pairs)
    return {store: _together(kept, deleted.get(store, ())) for store, kept in values.items()}


def _together(values: dict[bytes, bytes | None], ranges: tuple[KeyRange, ...]) -> StoreChanges:
    pairs = sorted(values.items())
    if ranges:
        pairs = [(key, v) for key, v in pairs if v is not None or not covers(ranges, key)]
    return StoreChanges(pairs, ranges)
