"""The connection of apps whose sources and sinks are not topics."""

from __future__ import annotations

import os
from itertools import chain
from typing import Final

from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError, Where
from kstreams.graph.named_topics import read_topics, written_topics
from kstreams.graph.topology import Topology
from kstreams.topic import TopicChoice

__all__ = ("NO_TOPICS", "check_no_topics")

NO_TOPICS: Final = Embedded(os.devnull)
"""The connection of apps that need none: it has no topics, and none can be created."""


def check_no_topics(topology: Topology) -> None:
    """Check that a topology that runs without a connection has no topics.

    Raises:
        CompileError: The topology reads or writes a topic; the error names the first topic.
    """
    groups = topology.groups
    chosen = [
        (sink.name, sink.target.label)
        for sink in topology.sinks
        if isinstance(sink.target, TopicChoice)
    ]
    for node, topic in chain(read_topics(groups), written_topics(groups), chosen):
        raise CompileError(
            f"the topology reads or writes topic {topic!r}, and the app has no connection",
            hint="give the app a connection: App(topology, Embedded(...)) or "
            "App(topology, Kafka(...)).",
            where=Where(node=node),
        )
