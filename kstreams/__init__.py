"""Kafka Streams' ideas, typed, for Python on Spark Structured Streaming.

This module has the names that a first app needs. The other public modules:

- `kstreams.streams`: streams and tables in chained calls, Kafka Streams' DSL.
- `kstreams.topology`: connect sources, processors and sinks.
- `kstreams.operators`: ready-made processors; `kstreams.processors`: classes to derive from;
  `kstreams.joins`: joins of two values.
- `kstreams.aggregators`, `kstreams.windows`, `kstreams.emit`: results by key and window, and the
  time of their output; `kstreams.durations`: `minutes(1)`.
- `kstreams.stores`, `kstreams.serde`: typed state and serialization.
- `kstreams.io`, `kstreams.app`, `kstreams.views`: topics on Kafka or on disk, apps, and interactive
  queries; `kstreams.sources`, `kstreams.sinks`: files, databases and other sources and sinks;
  `kstreams.intakes`: webhooks, queues and other sources that deliver each message once.
- `kstreams.frames`: a topology as a transformation of DataFrames, on Spark Connect too.
- `kstreams.testing`, `kstreams.errors`: tests in memory, and all errors.
- `kstreams.state`, `kstreams.store_kinds`: interfaces for a new state backend, durable storage or
  store kind.

The public API is the `__all__` of these modules. The names of this module are loaded at their first
use, because a worker needs only a part of them. Only `App` imports pyspark.

Example:
    >>> from kstreams import TEXT, Topic, TopologyBuilder, map_values
    >>> builder = TopologyBuilder("shout")
    >>> words = builder.add_source("words", Topic("words", key=TEXT, value=TEXT))
    >>> loud = builder.add_processor("upper", map_values(str.upper), words)
    >>> builder.add_sink("loud", Topic("loud", key=TEXT, value=TEXT), loud)
    >>> builder.build().name
    'shout'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstreams.late_pandas import leave_pandas_out as _leave_pandas_out
from kstreams.lazy import lazy_names
from kstreams.other_kstreams import refuse_other_kstreams as _refuse_other_kstreams

if TYPE_CHECKING:
    from kstreams.application.app import App
    from kstreams.embedded.connection import Embedded
    from kstreams.emitter import Emitter
    from kstreams.errors.base import KStreamsError
    from kstreams.graph.building.builder import TopologyBuilder
    from kstreams.graph.nodes import Node
    from kstreams.graph.topology import Topology
    from kstreams.processors.aggregate import aggregate
    from kstreams.processors.context import ProcessorContext
    from kstreams.processors.filter import filter_
    from kstreams.processors.flat_map import flat_map
    from kstreams.processors.map import map_
    from kstreams.processors.map_values import map_values
    from kstreams.processors.on_error import DeadLetter
    from kstreams.processors.processor import FixedKeyProcessor, Processor
    from kstreams.processors.rekey import rekey
    from kstreams.record import Record
    from kstreams.serde.base import Serde
    from kstreams.serde.none import NONE
    from kstreams.serde.numbers import DOUBLE, INT64
    from kstreams.serde.text import BYTES, TEXT
    from kstreams.state.stores.key_value.kind import key_value_store
    from kstreams.state.stores.timestamped.kind import timestamped_store
    from kstreams.topic import Topic
    from kstreams.views.view import View
    from kstreams_kafka.options import Kafka
else:  # a checker would take any name then
    __getattr__ = lazy_names(
        __name__,
        {
            "BYTES": "kstreams.serde.text",
            "DOUBLE": "kstreams.serde.numbers",
            "INT64": "kstreams.serde.numbers",
            "NONE": "kstreams.serde.none",
            "TEXT": "kstreams.serde.text",
            "App": "kstreams.application.app",
            "DeadLetter": "kstreams.processors.on_error",
            "Embedded": "kstreams.embedded.connection",
            "Emitter": "kstreams.emitter",
            "FixedKeyProcessor": "kstreams.processors.processor",
            "KStreamsError": "kstreams.errors.base",
            "Kafka": "kstreams_kafka.options",
            "Node": "kstreams.graph.nodes",
            "Processor": "kstreams.processors.processor",
            "ProcessorContext": "kstreams.processors.context",
            "Record": "kstreams.record",
            "Serde": "kstreams.serde.base",
            "Topic": "kstreams.topic",
            "Topology": "kstreams.graph.topology",
            "TopologyBuilder": "kstreams.graph.building.builder",
            "View": "kstreams.views.view",
            "aggregate": "kstreams.processors.aggregate",
            "filter_": "kstreams.processors.filter",
            "flat_map": "kstreams.processors.flat_map",
            "key_value_store": "kstreams.state.stores.key_value.kind",
            "map_": "kstreams.processors.map",
            "map_values": "kstreams.processors.map_values",
            "rekey": "kstreams.processors.rekey",
            "timestamped_store": "kstreams.state.stores.timestamped.kind",
        },
    )

_refuse_other_kstreams()
_leave_pandas_out()  # before any array is made

__all__ = (
    "BYTES",
    "DOUBLE",
    "INT64",
    "NONE",
    "TEXT",
    "App",
    "DeadLetter",
    "Embedded",
    "Emitter",
    "FixedKeyProcessor",
    "KStreamsError",
    "Kafka",
    "Node",
    "Processor",
    "ProcessorContext",
    "Record",
    "Serde",
    "Topic",
    "Topology",
    "TopologyBuilder",
    "View",
    "aggregate",
    "filter_",
    "flat_map",
    "key_value_store",
    "map_",
    "map_values",
    "rekey",
    "timestamped_store",
)
