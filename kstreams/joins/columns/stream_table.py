"""Join a stream with a table by columns."""

from __future__ import annotations

import pyarrow as pa

from kstreams.joins.columns.look_ups import LookUps
from kstreams.processors.columns import PLACE

__all__ = ("StreamTableColumns",)


class StreamTableColumns(LookUps):
    """`StreamTableJoin` by columns: each record sees the table as of its place."""

    def process_batch(self, table: pa.Table) -> None:
        """Join a table's rows."""
        table = self.opened(table)
        if table.num_rows:
            found = self.found(table, table.column(PLACE).to_numpy())
            self.join(table, self.values(table), found)
