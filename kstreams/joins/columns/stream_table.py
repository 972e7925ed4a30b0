"""Join a stream with a table by columns."""

from __future__ import annotations

import pyarrow as pa

from kstreams.joins.columns.look_ups import LookUps
from kstreams.processors.columns import PLACE

__all__ = ("StreamTableColumns",)


class StreamTableColumns(LookUps):
    """The columnar form of `StreamTableJoin`; lookups see the table as of a record's position."""

    def process_batch(self, table: pa.Table) -> None:
        """Join the records of a batch."""
        table = self.opened(table)
        if table.num_rows:
            found = self.found(table, table.column(PLACE).to_numpy())
            self.join(table, self.values(table), found)
