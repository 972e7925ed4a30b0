"""Kafka Streams' ideas, typed, for Python on Spark Structured Streaming.

Read `TopologyBuilder`, `Processor` and `App` first. Importing this package imports no
pyspark: what runs on Spark is loaded when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kstreams.checkpoint.fork import ForkSource
from kstreams.checkpoint.migration import Migration
from kstreams.clock import Clock, FakeClock, SystemClock
from kstreams.connection import Connection
from kstreams.embedded.connection import Embedded
from kstreams.emitter import Emitter
from kstreams.errors import KStreamsError, TopologyError
from kstreams.graph.builder import TopologyBuilder
from kstreams.graph.nodes import Node
from kstreams.graph.sinks import to_function, to_stdout
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.processors.aggregate import aggregate, reduce
from kstreams.processors.call_external import call_external
from kstreams.processors.context import BatchContext, Cancellable, ProcessorContext, PunctuationType
from kstreams.processors.deduplicate import by_header, by_key, deduplicate
from kstreams.processors.event_time import wall_clock
from kstreams.processors.filter import filter_, filter_not
from kstreams.processors.flat_map import flat_map
from kstreams.processors.flat_map_values import flat_map_values
from kstreams.processors.interceptor import Interceptor
from kstreams.processors.map import map_
from kstreams.processors.map_values import map_values
from kstreams.processors.on_error import DeadLetter, OnError
from kstreams.processors.peek import peek
from kstreams.processors.processor import (
    BatchProcessor,
    FixedKeyBatchProcessor,
    FixedKeyProcessor,
    Processor,
)
from kstreams.processors.rekey import rekey
from kstreams.processors.supplier import Supplier
from kstreams.processors.transform import transform, transform_values
from kstreams.processors.validate import Invalid
from kstreams.record import Headers, Record, RecordMetadata
from kstreams.serde import BOOL, BYTES, DOUBLE, INT32, INT64, NONE, TEXT, Serde
from kstreams.state.backend.memory import Memory
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.buffer.store import BufferStore
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.list.kind import list_store
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.session.kind import session_store
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.sliding.kind import sliding_store
from kstreams.state.stores.sliding.store import SlidingStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.kind import versioned_key_value_store
from kstreams.state.stores.versioned.store import VersionedKeyValueStore, VersionedValue
from kstreams.state.stores.window.kind import window_store
from kstreams.state.stores.window.store import WindowStore
from kstreams.topic import Topic, topic_by
from kstreams.views.view import View

if TYPE_CHECKING:
    from kstreams.batch.report import AppState, BatchReport
    from kstreams.kafka.options import Kafka
    from kstreams.spark.app import App

__all__ = (
    "BOOL",
    "BYTES",
    "DOUBLE",
    "INT32",
    "INT64",
    "NONE",
    "TEXT",
    "App",
    "AppState",
    "BatchContext",
    "BatchProcessor",
    "BatchReport",
    "BufferStore",
    "Cancellable",
    "Clock",
    "Connection",
    "DeadLetter",
    "Embedded",
    "Emitter",
    "FakeClock",
    "FixedKeyBatchProcessor",
    "FixedKeyProcessor",
    "ForkSource",
    "Headers",
    "Interceptor",
    "Invalid",
    "KStreamsError",
    "Kafka",
    "KeyValueStore",
    "ListStore",
    "Memory",
    "Migration",
    "Node",
    "OnError",
    "PartitionGroup",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "Serde",
    "SessionStore",
    "SlidingStore",
    "StoreSpec",
    "Supplier",
    "SystemClock",
    "TimestampedStore",
    "Topic",
    "Topology",
    "TopologyBuilder",
    "TopologyError",
    "Upkeep",
    "VersionedKeyValueStore",
    "VersionedValue",
    "View",
    "WindowStore",
    "aggregate",
    "buffer_store",
    "by_header",
    "by_key",
    "call_external",
    "deduplicate",
    "filter_",
    "filter_not",
    "flat_map",
    "flat_map_values",
    "key_value_store",
    "list_store",
    "map_",
    "map_values",
    "peek",
    "reduce",
    "rekey",
    "session_store",
    "sliding_store",
    "timestamped_store",
    "to_function",
    "to_stdout",
    "topic_by",
    "transform",
    "transform_values",
    "versioned_key_value_store",
    "wall_clock",
    "window_store",
)

_LATER = {
    "App": "kstreams.spark.app",
    "AppState": "kstreams.batch.report",
    "BatchReport": "kstreams.batch.report",
    "Kafka": "kstreams.kafka.options",
}


def __getattr__(name: str) -> object:
    """Load what needs pyspark or confluent-kafka when it is first named."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found
