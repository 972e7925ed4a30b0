"""Topologies: the graph of sources, processors and sinks that an app runs.

`TopologyBuilder` creates a topology. Each `add_...` method returns a `Node`, a handle with the
types of key and value. `build` checks everything and returns a `Topology` for an `App` or a
`TopologyTestDriver`; `describe()`, `to_mermaid()` and `to_dot()` draw it.

- `add_table` (from a topic), `to_table` and `aggregate_table` (from streams) return a `Table` or
  `VersionedTable`; `join_table` and `join_tables` join by key, `to_stream` returns a stream. See
  `kstreams.joins`.
- `add_loop` returns a `Loop`, a node with records that the topology sends to its own next batch,
  and `close_loop` connects the node that sends them.
- `add_global_table` replicates a table to every task, from a topic or from another app
  (`AppTable`); `join_global` joins by any key, and `reads=[...]` lets a processor look up rows.
- Sinks write to a `Topic`, to a topic chosen for each record (`kstreams.io.topic_by`), to standard
  output (`to_stdout`), to a function (`to_function`) or to another destination (`kstreams.sinks`).
- `on_error=` is the policy for a failed record: `"fail"`, `"skip"` or `DeadLetter(topic)`.
- `event_time=wall_clock()` of a source uses the processing time as the time of a record.
- `feed(node, update)` is an input of `TopologyBuilder.cogroup`, a table of several inputs.
- `TopologyBuilder.validate` forwards bad records as `Invalid`.
- `with builder.origin(CallSite(file, line))` states the place in the code that defines nodes.
- `PartitionGroup` and the classes named `...Node` describe a built topology.

Example:
    >>> from kstreams import INT64, TEXT, Topic
    >>> from kstreams.topology import DeadLetter, TopologyBuilder, to_stdout
    >>> builder = TopologyBuilder("orders", on_error=DeadLetter("failed"))
    >>> orders = builder.add_source("orders", Topic("orders", key=TEXT, value=INT64))
    >>> builder.add_sink("out", to_stdout(), orders)
    >>> [group.name for group in builder.build().groups]
    ['orders']
"""

from __future__ import annotations

from kstreams.call_site import CallSite
from kstreams.graph.building.builder import TopologyBuilder
from kstreams.graph.building.feed import Feed, FeedSupplier, feed
from kstreams.graph.global_tables import AppTable, GlobalDefinition, GlobalTable
from kstreams.graph.nodes import (
    FunctionSink,
    JoinNode,
    Loop,
    LoopEndNode,
    LoopNode,
    Node,
    NodeHandle,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
    StdoutSink,
    Table,
    VersionedTable,
)
from kstreams.graph.sinks import to_function, to_stdout
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.processors.event_time import WallClock, wall_clock
from kstreams.processors.on_error import DeadLetter, OnError
from kstreams.processors.validate import Invalid

__all__ = (
    "AppTable",
    "CallSite",
    "DeadLetter",
    "Feed",
    "FeedSupplier",
    "FunctionSink",
    "GlobalDefinition",
    "GlobalTable",
    "Invalid",
    "JoinNode",
    "Loop",
    "LoopEndNode",
    "LoopNode",
    "Node",
    "NodeHandle",
    "OnError",
    "PartitionGroup",
    "ProcessorNode",
    "RepartitionNode",
    "SinkNode",
    "SourceNode",
    "StdoutSink",
    "Table",
    "Topology",
    "TopologyBuilder",
    "VersionedTable",
    "WallClock",
    "feed",
    "to_function",
    "to_stdout",
    "wall_clock",
)
