"""Topics that a topology defines by name, independent of its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kstreams.graph.topology import PartitionGroup
from kstreams.processors.on_error import DeadLetter
from kstreams.topic import Topic

__all__ = ("dead_letter_topics", "read_topics", "written_topics")


def read_topics(groups: Iterable[PartitionGroup]) -> Iterator[tuple[str, str]]:
    """Yield the sources that read topics, each with its topic's name."""
    for group in groups:
        for source in group.sources:
            if source.log is None:
                yield source.name, source.topic.name


def written_topics(groups: Iterable[PartitionGroup]) -> Iterator[tuple[str, str]]:
    """Yield nodes and stores that write topics, each with the topic's name.

    Sinks that choose a topic for each record are omitted.
    """
    for group in groups:
        for sink in group.sinks:
            if isinstance(sink.target, Topic):
                yield sink.name, sink.target.name
        yield from dead_letter_topics([group])
        for spec in group.stores:
            if spec.changelog is not None:
                yield spec.name, spec.changelog


def dead_letter_topics(groups: Iterable[PartitionGroup]) -> Iterator[tuple[str, str]]:
    """Yield the nodes that write dead letters, each with the name of its dead-letter topic."""
    for group in groups:
        policies = [(entry.name, entry.on_error) for entry in (*group.sources, *group.from_tasks)]
        policies += [(sink.name, sink.on_refused) for sink in group.sinks]
        for name, policy in policies:
            if isinstance(policy, DeadLetter):
                yield name, policy.topic
