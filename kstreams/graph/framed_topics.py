"""Get the topics of a topology ready whose serdes have frames, before anything runs."""

from __future__ import annotations

from kstreams.graph.topology import Topology
from kstreams.serde.framed import prepare
from kstreams.topic import Topic, TopicChoice

__all__ = ("prepare_topics",)


def prepare_topics(topology: Topology) -> None:
    """Look up what reading and writing the topics will need; on the driver, once.

    Raises:
        KStreamsError: A topic cannot be read or written so; names the node.
    """
    for source in topology.sources:
        prepare(source.topic.key, source.topic.value, writes=False, node=source.name)
    for sink in topology.sinks:
        if isinstance(sink.target, (Topic, TopicChoice)):
            prepare(sink.target.key, sink.target.value, writes=True, node=sink.name)
