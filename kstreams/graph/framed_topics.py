"""Prepare serdes that write a frame, such as a schema id, by registering or checking schemas."""

from __future__ import annotations

from kstreams.graph.topology import Topology
from kstreams.serde.framed import prepare
from kstreams.topic import Topic, TopicChoice

__all__ = ("prepare_topics",)


def prepare_topics(topology: Topology) -> None:
    """Prepare the serdes of all topics for reading or writing, such as by registering schemas.

    Raises:
        KStreamsError: A topic cannot be read or written with its serdes; the error names the node.
    """
    for source in topology.sources:
        prepare(source.topic.key, source.topic.value, writes=False, node=source.name)
    for sink in topology.sinks:
        if isinstance(sink.target, (Topic, TopicChoice)):
            prepare(sink.target.key, sink.target.value, writes=True, node=sink.name)
