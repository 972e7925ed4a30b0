"""Streams and tables: topologies in chained calls, with types; Kafka Streams' DSL.

`Streams` reads topics as a `Stream`, a `Table`, a `VersionedTable` or a `GlobalTable`; each call
adds a step and returns another object; `Streams.build()` returns a `Topology`, as
`TopologyBuilder` does. Records are grouped (`GroupedStream`, `GroupedTable`), divided by windows
(`WindowedStream`) and aggregated into a `Table` or into `WindowResults`; a `CogroupedStream` is a
table with several inputs. The right side of a join of streams is a `Joinable`: a table, an `AsOf`
or a `Near`. `classes` names the classes of a union for `Stream.by_type` (`Classes2`, ...), and
a `Loop` leads back into the topology.

- **Names.** The name of state consists of topic, key, operation and windows:
  `orders-by-customer-count-per-1m`. Stateless steps are not part of it and can change freely.
  `named(...)` and `store=` give other names; two equal names are an error of `build()`.
- **Repartition.** A step that needs equal keys in one task is below a repartition edge if, and only
  if, the key may have changed before. Each stream has at most one such edge.
- **Serdes.** The serdes of topics are kept. The type of results follows from the annotation
  `-> Order` of a function, or from the field that a lambda returns; `Streams(serdes=[...])` has
  the serdes of types (each a `TypedSerde`), and `make_serde=` (a `SerdeMaker`) creates others. If a
  step needs a serde that is not known, its call raises an error with the function and its line.

Example:
    >>> from kstreams import BYTES, INT64, TEXT, Topic
    >>> from kstreams.streams import Streams
    >>> from kstreams.testing import TopologyTestDriver
    >>> lines, totals = Topic("lines", key=BYTES, value=TEXT), Topic("totals", TEXT, INT64)
    >>> streams = Streams("word-count")
    >>> words = streams.stream(lines).flat_map_values(str.split)
    >>> words.group_by(lambda _, word: word).count().to(totals)
    >>> with TopologyTestDriver(streams.build(), partitions=4) as driver:
    ...     driver.pipe(lines, b"1", "to be or not to be")
    ...     sorted(driver.read_values(totals).items())
    [('be', 2), ('not', 1), ('or', 1), ('to', 2)]
"""

from __future__ import annotations

from kstreams.other_kstreams import refuse_other_kstreams as _refuse_other_kstreams
from kstreams.streams.app import Streams
from kstreams.streams.grouped import CogroupedStream, GroupedStream
from kstreams.streams.grouped_table import GroupedTable
from kstreams.streams.join_steps import GlobalTable, Joinable, Near
from kstreams.streams.serdes import SerdeMaker, TypedSerde
from kstreams.streams.stream import Loop, Stream
from kstreams.streams.table import Table
from kstreams.streams.unions import Classes2, Classes3, Classes4, classes
from kstreams.streams.versioned_table import AsOf, VersionedTable
from kstreams.streams.windowed import WindowedStream, WindowResults

_refuse_other_kstreams()

__all__ = (
    "AsOf",
    "Classes2",
    "Classes3",
    "Classes4",
    "CogroupedStream",
    "GlobalTable",
    "GroupedStream",
    "GroupedTable",
    "Joinable",
    "Loop",
    "Near",
    "SerdeMaker",
    "Stream",
    "Streams",
    "Table",
    "TypedSerde",
    "VersionedTable",
    "WindowResults",
    "WindowedStream",
    "classes",
)
