"""Base classes of custom processors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic

import pyarrow as pa
from typing_extensions import TypeVar

from kstreams.processors.context import BatchContext, ProcessorContext
from kstreams.record import Record

__all__ = (
    "BaseProcessor",
    "BatchProcessor",
    "FixedKeyBatchProcessor",
    "FixedKeyProcessor",
    "K",
    "KIn",
    "KOut",
    "Processor",
    "VIn",
    "VOut",
)

K = TypeVar("K")
"""Type of keys that do not change."""
KIn = TypeVar("KIn", contravariant=True)
"""Type of the input keys."""
VIn = TypeVar("VIn", contravariant=True)
"""Type of the input values."""
KOut = TypeVar("KOut", covariant=True, default=KIn)
"""Type of the forwarded keys; by default the type of the input keys."""
VOut = TypeVar("VOut", covariant=True, default=VIn)
"""Type of the forwarded values; by default the type of the input values."""


class BaseProcessor(ABC, Generic[KIn, VIn, KOut, VOut]):
    """The common base of `Processor` and `BatchProcessor`; derive from one of these two classes.

    With one base class, `TopologyBuilder.add_processor` has one signature: type checkers infer
    lambdas through a plain signature, but not through overloads.
    """

    keeps_key: ClassVar[bool] = False
    """Whether every record is forwarded with the key of its input record."""

    calls_outside: ClassVar[bool] = False
    """Whether the processor calls external systems. If so, `kstreams explain` replays batches only
    if an option allows it.
    """

    def close(self) -> None:
        """Release the resources acquired in `init`."""


class Processor(BaseProcessor[KIn, VIn, KOut, VOut]):
    """Processes one record at a time, on the executor.

    An instance processes one or more micro-batches of one task: data that must outlast a batch
    belongs in a store. If `process` raises an exception, the source's `on_error` applies to the
    record, and all effects of the record are rolled back. The builder assumes that the processor
    changes keys; derive from `FixedKeyProcessor` if it does not. `Processor[str, Order]` is short
    for `Processor[str, Order, str, Order]`.

    Decorate your methods with `typing_extensions.override`: a type checker then finds a misspelled
    name, which would otherwise never be called.

    Source: `org.apache.kafka.streams.processor.api.Processor`.
    """

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Initialize; may run for every micro-batch. By default, keeps the context."""
        self.context = context

    @abstractmethod
    def process(self, record: Record[KIn, VIn]) -> None:
        """Process a record; may forward any number of records through the context."""


class FixedKeyProcessor(Processor[K, VIn, K, VOut]):
    """A processor that forwards every record with the key of its input record.

    Downstream nodes therefore need no repartition. `FixedKeyProcessor[str, Order]` is short for
    `FixedKeyProcessor[str, Order, Order]`.

    Source: `org.apache.kafka.streams.processor.api.FixedKeyProcessor`.
    """

    keeps_key: ClassVar[bool] = True


class BatchProcessor(BaseProcessor[KIn, VIn, KOut, VOut]):
    """Processes many records at once as an Arrow table, on the executor.

    `process_batch` receives the records of a micro-batch in the order of a record processor; a new
    table begins after each record that makes a punctuator due. Columns: `key` and `value` (of the
    `arrow_type` of the serde; null if the source passes nulls), `timestamp` (int64, ms since the
    epoch), `partition` (int32), `offset` (int64) (both null below a processor that creates
    records), `headers` (list of struct `key` string, `value` binary; null means none). The table is
    never empty. For results that do not depend on batches, the processor must not depend on the
    division into tables.
    """

    def init(self, context: BatchContext) -> None:
        """Initialize; may run for every micro-batch. By default, keeps the context."""
        self.context = context

    @abstractmethod
    def process_batch(self, table: pa.Table) -> None:
        """Process a table; may forward any number of tables through the context."""


class FixedKeyBatchProcessor(BatchProcessor[K, VIn, K, VOut]):
    """A batch processor that forwards records only with keys of its input records."""

    keeps_key: ClassVar[bool] = True
