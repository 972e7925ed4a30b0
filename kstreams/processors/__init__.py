"""Processors: base classes for custom processing.

- `FixedKeyProcessor`: processes single records, and keeps their keys. The usual choice.
- `Processor`: processes single records, and may change their keys.
- `BatchProcessor`, `FixedKeyBatchProcessor`: process a batch of records as one Arrow table, if
  Arrow or NumPy can replace a call for each record.

Stores and punctuators (`ProcessorContext.schedule`, by stream time or wall clock) are requested in
`init`, as are readers of tables (`ProcessorContext.reader`, a `TableReader` or `VersionedReader`).
Data that must outlast a batch belongs in a store, because a processor object may exist for one
batch only. Data that a processor buffers until the end of the batch (`ProcessorContext.hold`) keeps
its `Origin`, so that a late failure names the record.

A `Supplier` creates processors: a processor class, or the result of an operator. An `Interceptor`
wraps the processors of an app, for measurements or traces.

Example:
    >>> from kstreams import FixedKeyProcessor, Record
    >>> class Double(FixedKeyProcessor[str, int, int]):
    ...     def process(self, record: Record[str, int]) -> None:
    ...         self.context.forward(record.with_value(record.value * 2))
    >>> from kstreams import INT64, TEXT, Topic, TopologyBuilder
    >>> from kstreams.testing import TopologyTestDriver
    >>> numbers, doubles = Topic("numbers", TEXT, INT64), Topic("doubles", TEXT, INT64)
    >>> builder = TopologyBuilder("double")
    >>> node = builder.add_source("numbers", numbers)
    >>> builder.add_sink("out", doubles, builder.add_processor("double", Double, node))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.pipe(numbers, "a", 21)
    ...     driver.read_values(doubles)
    {'a': 42}
"""

from __future__ import annotations

from kstreams.ids import TaskId
from kstreams.processors.context import (
    BatchContext,
    Cancellable,
    Origin,
    ProcessorContext,
    PunctuationType,
)
from kstreams.processors.interceptor import Interceptor
from kstreams.processors.processor import (
    BaseProcessor,
    BatchProcessor,
    FixedKeyBatchProcessor,
    FixedKeyProcessor,
    Processor,
)
from kstreams.processors.supplier import StoreSupplier, Supplier
from kstreams.record import Headers, Record, RecordMetadata
from kstreams.state.stores.table_access import TableReader, VersionedReader

__all__ = (
    "BaseProcessor",
    "BatchContext",
    "BatchProcessor",
    "Cancellable",
    "FixedKeyBatchProcessor",
    "FixedKeyProcessor",
    "Headers",
    "Interceptor",
    "Origin",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "StoreSupplier",
    "Supplier",
    "TableReader",
    "TaskId",
    "VersionedReader",
)
