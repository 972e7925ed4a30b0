"""The nodes of a topology as data, and the typed handles that a user wires them with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from kstreams.joins.change import Change
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.table_rows import TableRows
from kstreams.joins.terms import Terms, terms_of
from kstreams.log import Log
from kstreams.partitioner import Partitioner
from kstreams.processors.event_time import EventTime
from kstreams.processors.on_error import OnError
from kstreams.processors.processor import BatchProcessor, Processor
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.sink import Sink
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Nulls, Topic, TopicChoice

__all__ = (
    "AnyNode",
    "AnyProcessor",
    "Entry",
    "FunctionSink",
    "JoinNode",
    "Loop",
    "LoopEndNode",
    "LoopNode",
    "Node",
    "NodeHandle",
    "ProcessorNode",
    "RepartitionNode",
    "SinkNode",
    "SinkTarget",
    "SourceNode",
    "Start",
    "StdoutSink",
    "Table",
    "VersionedTable",
    "serdes_of",
)

K = TypeVar("K")
"""Type of the keys that leave a node."""
V = TypeVar("V")
"""Type of the values that leave a node."""

Start = Literal["earliest", "latest"] | datetime
"""Where a source begins when the app has no checkpoint yet; a time must have a zone."""

_TOPICS_OWN = EventTime()

AnyProcessor = (
    Processor[Any, Any, Any, Any]
    | BatchProcessor[Any, Any, Any, Any]
    | JoinProcessor[Any, Any, Any, Any, Any]
)
"""A processor of any form."""


@dataclass(frozen=True)
class NodeHandle:
    """A handle on a node of a builder, whatever leaves the node."""

    name: str
    builder: object


@dataclass(frozen=True)
class Node(NodeHandle, Generic[K, V]):
    """A handle on a node of a builder; carries the types of what leaves the node."""


@dataclass(frozen=True)
class Table(Node[K, Change[V]], Generic[K, V]):
    """One value a key, as it changes: a node of changes, and how its rows are read.

    Any processor may be hung below it and gets a `Change` for each row that changes.

    Source: `org.apache.kafka.streams.kstream.KTable`.
    """

    rows: TableRows = field(repr=False)


@dataclass(frozen=True)
class VersionedTable(Table[K, V]):
    """A table that knows what a key's value was at a time."""


@dataclass(frozen=True)
class Loop(Node[K, V]):
    """What a topology sends itself: a node to read from, which `close_loop` writes to."""


@dataclass(frozen=True)
class SourceNode:
    """Reads a topic, or a log as if it were one.

    Attributes:
        topic: Name and serdes of what it reads.
        log: What it reads instead of a topic.
    """

    name: str
    topic: Topic[Any, Any]
    start: Start
    on_error: OnError
    event_time: EventTime = _TOPICS_OWN
    parents: tuple[str, ...] = ()
    log: Log[Any, Any] | None = None


@dataclass(frozen=True)
class ProcessorNode:
    """Runs a processor for each record, or for tables of them.

    Attributes:
        stores: Stores that it reads and writes.
        keeps_key: Whether what it forwards has the key that came.
        batch: Whether it takes tables of records.
        types_in: Types of key and value that come in, as far as they are known.
        types_out: Types of key and value that go out, as far as they are known.
        reads: Stores of tables that it reads.
        makes_table: Whether it makes a table of records.
    """

    name: str
    supplier: Callable[[], AnyProcessor]
    parents: tuple[str, ...]
    stores: tuple[StoreSpec[Any], ...]
    keeps_key: bool
    batch: bool
    types_in: tuple[object, object]
    types_out: tuple[object, object]
    reads: tuple[StoreSpec[Any], ...] = ()
    makes_table: bool = False
    globals: tuple[StoreSpec[Any], ...] = ()

    @property
    def terms(self) -> Terms:
        """What it goes by if it joins; empty if it does not, or does not say so."""
        return terms_of(self.supplier)

    def types_from(self, parent: str) -> tuple[tuple[object, object], ...]:
        """Return the types of key and value that it takes from a parent, by input."""
        return (self.types_in,)


@dataclass(frozen=True)
class JoinNode(ProcessorNode):
    """Runs a processor with two inputs.

    Attributes:
        ports: The left parent and the right one; they may be the same node.
        types_right: Types of key and value on the right.
    """

    ports: tuple[str, str] = ("", "")
    types_right: tuple[object, object] = (object, object)

    def types_from(self, parent: str) -> tuple[tuple[object, object], ...]:
        """Return the types of key and value that it takes from a parent, by input."""
        types = zip(self.ports, (self.types_in, self.types_right), strict=True)
        return tuple(found for port, found in types if port == parent)


@dataclass(frozen=True)
class RepartitionNode:
    """Moves records to the tasks that own their keys: an edge between two groups.

    Attributes:
        nulls: Whether values may be None, for the check of types: `pass`, or else `drop`.
        counts_hops: Whether records keep how often they went round: there are loops.
        way_out: What to do, in a sentence, where it would lead back into its own group.
    """

    name: str
    parents: tuple[str, ...]
    key: Serde[Any]
    value: Serde[Any]
    partitions: int | None
    partitioner: Partitioner
    on_error: OnError
    nulls: Nulls = "drop"
    counts_hops: bool = False
    way_out: str = ""


@dataclass(frozen=True)
class LoopNode:
    """Reads what was written to a loop in the batch before: a way into its group.

    Attributes:
        max_hops: How many times what comes of a record may go round.
    """

    name: str
    key: Serde[Any]
    value: Serde[Any]
    partitioner: Partitioner
    max_hops: int
    on_error: OnError
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoopEndNode:
    """Writes what arrives to a loop, for the next batch."""

    name: str
    loop: LoopNode
    parents: tuple[str, ...]


@dataclass(frozen=True)
class StdoutSink:
    """Prints each record on the driver's standard output, after its batch is committed."""

    label: str = "stdout"


@dataclass(frozen=True)
class FunctionSink(Generic[K, V]):
    """Calls a function with each record, on the executor; made by `to_function`."""

    function: Callable[[Record[K, V]], None]
    label: str


SinkTarget = (
    Topic[Any, Any] | TopicChoice[Any, Any] | StdoutSink | FunctionSink[Any, Any] | Sink[Any, Any]
)
"""Where a sink writes to."""


@dataclass(frozen=True)
class SinkNode:
    """Writes what arrives to a topic, to standard output, to a function or to another `Sink`."""

    name: str
    target: SinkTarget
    parents: tuple[str, ...]
    on_refused: OnError = "fail"
    result_ids: bool = False


AnyNode = SourceNode | ProcessorNode | RepartitionNode | LoopNode | LoopEndNode | SinkNode
"""Any node of a topology."""

Entry = SourceNode | RepartitionNode | LoopNode
"""A node by which records come into a group."""


def serdes_of(entry: Entry) -> tuple[Serde[Any], Serde[Any]]:
    """Return the key's and the value's serde of what an entry gives out: without a frame."""
    if isinstance(entry, SourceNode):
        return entry.topic.key.plain, entry.topic.value.plain
    return entry.key, entry.value
