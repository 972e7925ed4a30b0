"""Batch processors used by the other files."""
# pyright: standard
# pyarrow has no types: in strict mode each use of it would be an error.

from __future__ import annotations

import pyarrow as pa

from kstreams.processors import BatchProcessor, FixedKeyBatchProcessor


class Lengths(FixedKeyBatchProcessor[bytes, str, int]):
    """Lengths of lines, a table at a time."""

    def process_batch(self, table: pa.Table) -> None:
        self.context.forward(table)


class Parse(BatchProcessor[bytes, str, str, int]):
    """New keys and values, a table at a time."""

    def process_batch(self, table: pa.Table) -> None:
        self.context.forward(table)
