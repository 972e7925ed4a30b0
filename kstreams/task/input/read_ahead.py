"""Prefetches the state of a batch's keys in one call, if processors turn out to read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

from kstreams.graph.nodes import Entry, ProcessorNode, serdes_of
from kstreams.graph.topology import PartitionGroup
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.kind import AheadRows
from kstreams.task.records.rows import Stream

__all__ = ("ReadAhead",)

_SAMPLE = 256
"""The number of records to observe before prefetching starts."""
_LEAST_SHARE = 0.5
"""The minimum share of the sample's keys that processors must have read."""

T = TypeVar("T")
"""The type of the iterated items."""


class ReadAhead:
    """Prefetches the rows for the keys of a batch, with one backend call per store.

    A single lookup in RocksDB takes about three times as long as one key in a sorted bulk lookup.
    Candidates are stores that map a key to a row and belong to record processors whose records have
    unchanged input keys. The rows of a candidate are prefetched if its processor has read most keys
    of the first records. Prefetching does not change results, because the working store does not
    change during an attempt.
    """

    def __init__(self, group: PartitionGroup, overlay: Overlay) -> None:
        self._stores = {entry.name: list(_stores(group, entry, overlay)) for entry in group.inputs}

    def over(self, items: Iterator[T], streams: Sequence[Stream]) -> Iterator[T]:
        """Yield a batch's records; after the first records, prefetch state if nodes read it."""
        stores = any(self._stores[stream.entry.name] for stream in streams)
        if not stores or sum(len(stream.keys) for stream in streams) < 4 * _SAMPLE:
            return items
        return chain(islice(items, _SAMPLE), _later(lambda: self._read(streams)), items)

    def _read(self, streams: Sequence[Stream]) -> None:
        for stream in streams:
            sample = [key for key in dict.fromkeys(stream.keys[:_SAMPLE]) if key is not None]
            for store in self._stores[stream.entry.name]:
                if sample and store.share_cached(sample) >= _LEAST_SHARE:
                    store.read_ahead([key for key in stream.keys if key is not None])


def _later(work: Callable[[], None]) -> Iterator[T]:
    """Yield nothing, but call a function when the iterator is first advanced."""
    work()
    yield from ()


def _stores(group: PartitionGroup, entry: Entry, overlay: Overlay) -> Iterator[AheadRows]:
    """Yield the stores in which processors may look up the keys of a source, edge or loop."""
    key = serdes_of(entry)[0]
    names = {entry.name}
    for node in group.nodes:
        if isinstance(node, ProcessorNode) and names.intersection(node.parents):
            for spec in () if node.batch else (*node.stores, *node.reads):
                rows = spec.kind.read_ahead(spec, overlay) if spec.key == key else None
                if rows is not None:
                    yield rows
            if node.keeps_key:
                names.add(node.name)
