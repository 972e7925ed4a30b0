"""Making one delta of several, which does what they do one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kstreams.state.backend.key_ranges import covers, united
from kstreams.state.backend.working import Changes, KeyRange, StoreChanges
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.lineage import Link
from kstreams.state.log.pointer import ObjectRef

__all__ = ("merged_changes", "write_merger")


def write_merger(log: DurableLog, parts: Sequence[ObjectRef], attempt: Attempt) -> ObjectRef:
    """Write the merger of a pointer's deltas, and return its ref.

    Args:
        log: The task's durable log.
        parts: Deltas of one version that follow each other, of one level.
        attempt: Whose name the object carries.

    Raises:
        StateCorruptError: One of them is missing or damaged.
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
        lineage=links[-1].lineage,
    )
    return log.put(log.ref(data, version, attempt, kind, level), data)


def merged_changes(all_changes: Iterable[Changes]) -> Changes:
    """Return what changes do together; the last ones win.

    Deletions stay, of ranges and of single keys: what came before may hold their keys.

    Args:
        all_changes: Oldest first.
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
