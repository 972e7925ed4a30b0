"""The classes that users derive their processors from."""

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
"""Type of keys that stay as they are."""
KIn = TypeVar("KIn", contravariant=True)
"""Type of the keys that come in."""
VIn = TypeVar("VIn", contravariant=True)
"""Type of the values that come in."""
KOut = TypeVar("KOut", covariant=True, default=KIn)
"""Type of the keys that are forwarded; by default that of the keys that come in."""
VOut = TypeVar("VOut", covariant=True, default=VIn)
"""Type of the values that are forwarded; by default that of the values that come in."""


class BaseProcessor(ABC, Generic[KIn, VIn, KOut, VOut]):
    """The common base of `Processor` and `BatchProcessor`; derive from one of those.

    With one base class, `TopologyBuilder.add_processor` has one signature: type checkers infer
    lambdas through a plain signature, but not through overloads.
    """

    keeps_key: ClassVar[bool] = False
    """True when every record is forwarded under the key it came with."""

    calls_outside: ClassVar[bool] = False
    """True if the processor calls external systems. `kstreams explain` then replays no batch of it
    unless an option allows it.
    """

    def close(self) -> None:
        """Release the resources of `init`."""


class Processor(BaseProcessor[KIn, VIn, KOut, VOut]):
    """Handles one record at a time, on the executor.

    An instance serves one task for one micro-batch or more: what must last belongs into
    a store. Raise to fail: the source's `on_error` decides what becomes of the record,
    and no effect of it remains. Counts as changing the key; derive from
    `FixedKeyProcessor` when it does not. `Processor[str, Order]` is short for
    `Processor[str, Order, str, Order]`.

    Decorate your methods with `typing_extensions.override`: a type checker then finds a
    misspelled name, which would otherwise never be called.

    Source: `org.apache.kafka.streams.processor.api.Processor`.
    """

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Get ready; may run for every micro-batch. Keeps the context by default."""
        self.context = context

    @abstractmethod
    def process(self, record: Record[KIn, VIn]) -> None:
        """Handle a record; forward any number of records by the context."""


class FixedKeyProcessor(Processor[K, VIn, K, VOut]):
    """A processor that forwards every record under the key it came with.

    So what follows stays in the right partition, and needs no repartition.
    `FixedKeyProcessor[str, Order]` is short for `FixedKeyProcessor[str, Order, Order]`.

    Source: `org.apache.kafka.streams.processor.api.FixedKeyProcessor`.
    """

    keeps_key: ClassVar[bool] = True


class BatchProcessor(BaseProcessor[KIn, VIn, KOut, VOut]):
    """Processes many records at once as an Arrow table, on the executor.

    `process_batch` gets the records of a micro-batch in the order of a record processor, divided
    after each record that makes a punctuator due. Columns: `key` and `value` (of the `arrow_type`
    of the serde; null where nulls pass), `timestamp` (int64, ms since the epoch), `partition`
    (int32), `offset` (int64) (both null below a processor that creates records), `headers` (list of
    struct `key` string, `value` binary; null means none). The table is never empty. For results
    that do not depend on batches, the processor must not depend on the division into tables.
    """

    def init(self, context: BatchContext) -> None:
        """Get ready; may run for every micro-batch. Keeps the context by default."""
        self.context = context

    @abstractmethod
    def process_batch(self, table: pa.Table) -> None:
        """Handle a table; forward any number of tables by the context."""


class FixedKeyBatchProcessor(BatchProcessor[K, VIn, K, VOut]):
    """A batch processor that forwards only keys that came in."""

    keeps_key: ClassVar[bool] = True
