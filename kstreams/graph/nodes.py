"""The nodes of a topology as data, and the typed handles with which users connect nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from kstreams.call_site import Located
from kstreams.joins.change import Change
from kstreams.joins.join_processor import JoinProcessor
from kstreams.joins.join_terms import Terms, terms_of
from kstreams.joins.table_rows import TableRows
from kstreams.log import Log
from kstreams.partitioner import Partitioner
from kstreams.processors.event_time import EventTime
from kstreams.processors.on_error import OnError
from kstreams.processors.processor import BatchProcessor, Processor
from kstreams.processors.supplier import StoreParameters, store_parameters_of
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
"""Type of the keys that a node forwards."""
V = TypeVar("V")
"""Type of the values that a node forwards."""

Start = Literal["earliest", "latest"] | datetime
"""The start position of a source if there is no checkpoint; a time must have a time zone."""

_TOPICS_OWN = EventTime()

AnyProcessor = (
    Processor[Any, Any, Any, Any]
    | BatchProcessor[Any, Any, Any, Any]
    | JoinProcessor[Any, Any, Any, Any, Any]
)
"""A processor of any kind."""


@dataclass(frozen=True)
class NodeHandle:
    """A handle on a node of a builder, without the types of its records."""

    name: str
    builder: object


@dataclass(frozen=True)
class Node(NodeHandle, Generic[K, V]):
    """A handle on a node of a builder, with the types of the records that the node forwards."""


@dataclass(frozen=True)
class Table(Node[K, Change[V]], Generic[K, V]):
    """A handle on a table: a node that forwards changes, and the definition of the table's rows.

    Any processor can be a child of a table, and receives a `Change` for each row that changes.

    Source: `org.apache.kafka.streams.kstream.KTable`.
    """

    rows: TableRows = field(repr=False)


@dataclass(frozen=True)
class VersionedTable(Table[K, V]):
    """A handle on a table whose rows can be read as of a time.

    `derive` of a versioned table returns a versioned table.
    """

    history: TableRows = field(repr=False)


@dataclass(frozen=True)
class Loop(Node[K, V]):
    """A handle on a loop: a node that forwards the records which `close_loop` sends to it."""


@dataclass(frozen=True)
class SourceNode(Located):
    """Reads a topic or a log.

    Attributes:
        topic: Name and serdes of the topic or log.
        log: The log, for a source that is not a topic.
    """

    name: str
    topic: Topic[Any, Any]
    start: Start
    on_error: OnError
    event_time: EventTime = _TOPICS_OWN
    parents: tuple[str, ...] = ()
    log: Log[Any, Any] | None = None


@dataclass(frozen=True)
class ProcessorNode(Located):
    """Runs a processor on single records, or on tables of records.

    Attributes:
        stores: Stores that the node reads and writes.
        keeps_key: Whether forwarded records have the key of the input record.
        batch: Whether the processor receives tables of records.
        types_in: Types of key and value of the input, as far as they are known.
        types_out: Types of key and value of the output, as far as they are known.
        reads: Stores of tables that the node only reads.
        makes_table: Whether the node converts records to a table.
        keyed: Stores whose keys are the keys of the input records.
        valued: Stores whose values are the values of the input records.
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
    keyed: tuple[StoreSpec[Any], ...] = ()
    valued: tuple[StoreSpec[Any], ...] = ()
    globals: tuple[StoreSpec[Any], ...] = ()

    @property
    def terms(self) -> Terms:
        """The recorded settings of a join; empty for other nodes and joins without settings."""
        return terms_of(self.supplier)

    @property
    def store_parameters(self) -> StoreParameters:
        """The parameters on which the rows of the node's stores depend, by store name."""
        return store_parameters_of(self.supplier)

    def types_from(self, parent: str) -> tuple[tuple[object, object], ...]:
        """Return the key and value types that the node accepts from a parent, by input."""
        return (self.types_in,)


@dataclass(frozen=True)
class JoinNode(ProcessorNode):
    """Runs a processor with two inputs.

    Attributes:
        ports: The names of the left and the right parent, which may be the same node.
        types_right: Types of key and value of the right input.
    """

    ports: tuple[str, str] = ("", "")
    types_right: tuple[object, object] = (object, object)

    def types_from(self, parent: str) -> tuple[tuple[object, object], ...]:
        """Return the key and value types that the node accepts from a parent, by input."""
        types = zip(self.ports, (self.types_in, self.types_right), strict=True)
        return tuple(found for port, found in types if port == parent)


@dataclass(frozen=True)
class RepartitionNode(Located):
    """Moves records to the tasks that own their keys: an edge between two groups.

    Attributes:
        nulls: Whether the type check permits values of None: `pass` or `drop`.
        counts_hops: Whether the edge transmits hop counts, because the topology has loops.
        way_out: The hint of the error if the edge leads back into its own group.
        null_keys: Whether the type check permits keys of None: `pass` or `drop`.
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
    null_keys: Nulls = "drop"


@dataclass(frozen=True)
class LoopNode(Located):
    """The start of a loop in a group: forwards the records that the previous batch wrote to it.

    Attributes:
        max_hops: Maximum number of hops of a record and the records derived from it.
    """

    name: str
    key: Serde[Any]
    value: Serde[Any]
    partitioner: Partitioner
    max_hops: int
    on_error: OnError
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class LoopEndNode(Located):
    """Writes records to a loop; the next batch reads them."""

    name: str
    loop: LoopNode
    parents: tuple[str, ...]


@dataclass(frozen=True)
class StdoutSink:
    """Prints each record on the driver's standard output, after its batch is committed."""

    label: str = "stdout"


@dataclass(frozen=True)
class FunctionSink(Generic[K, V]):
    """Calls a function with each record, on the executor; created by `to_function`."""

    function: Callable[[Record[K, V]], None]
    label: str


SinkTarget = (
    Topic[Any, Any] | TopicChoice[Any, Any] | StdoutSink | FunctionSink[Any, Any] | Sink[Any, Any]
)
"""The destination of a sink."""


@dataclass(frozen=True)
class SinkNode(Located):
    """Writes records to a topic, to standard output, to a function or to another `Sink`."""

    name: str
    target: SinkTarget
    parents: tuple[str, ...]
    on_refused: OnError = "fail"
    result_ids: bool = False


AnyNode = SourceNode | ProcessorNode | RepartitionNode | LoopNode | LoopEndNode | SinkNode
"""Any node of a topology."""

Entry = SourceNode | RepartitionNode | LoopNode
"""A node through which records enter a group."""


def serdes_of(entry: Entry) -> tuple[Serde[Any], Serde[Any]]:
    """Return the key and value serdes of a source, edge or loop.

    The serdes of topics are those of the bare values, without the header of a schema registry.
    """
    if isinstance(entry, SourceNode):
        return entry.topic.key.plain, entry.topic.value.plain
    return entry.key, entry.value
