"""A table for a test, read by Google's other client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import grpc
from google.cloud.bigtable_admin_v2 import BigtableTableAdminClient, types
from google.cloud.bigtable_admin_v2.services.bigtable_table_admin.transports import (
    BigtableTableAdminGrpcTransport,
)
from google.cloud.bigtable_v2 import BigtableClient
from google.cloud.bigtable_v2.services.bigtable.transports import BigtableGrpcTransport

from kstreams_bigtable import BigtableRows, Cells

__all__ = ("Place", "small")

SHORT = timedelta(milliseconds=300)


def small(_word: object, total: int) -> Cells:
    """Return a row; values of 1,000 and more have none."""
    if total >= 1_000:
        raise ValueError("too large")
    return {"sums:total": total}


@dataclass
class Place:
    """A table with the families `sums` and `more`, with one version of each cell."""

    endpoint: str
    table: str = field(default_factory=lambda: f"t{uuid4().hex[:12]}")

    def __post_init__(self) -> None:
        kept = types.ColumnFamily(gc_rule=types.GcRule(max_num_versions=1))  # type: ignore[no-untyped-call]  # it is not
        made = types.Table(column_families={"sums": kept, "more": kept})
        with closing(grpc.insecure_channel(self.endpoint)) as channel:
            admin = BigtableTableAdminClient(
                transport=BigtableTableAdminGrpcTransport(channel=channel)
            )
            admin.create_table(parent=self.parent, table_id=self.table, table=made)

    @property
    def parent(self) -> str:
        return "projects/tests/instances/main"

    def sink(
        self, row: Callable[[Any, Any], Cells | None] = small, **given: Any
    ) -> BigtableRows[Any, Any]:
        known: dict[str, Any] = {"endpoint": self.endpoint, "fence": f"{self.table}-fence"}
        return BigtableRows("tests", "main", self.table, row=row, **(known | given))

    def cells(self) -> dict[bytes, dict[str, tuple[datetime, bytes]]]:
        """Return the newest cells of all rows, with their times."""
        found: dict[bytes, dict[str, tuple[datetime, bytes]]] = {}
        with closing(grpc.insecure_channel(self.endpoint)) as channel:
            client = BigtableClient(transport=BigtableGrpcTransport(channel=channel))
            row, family, column = b"", "", ""
            for answer in client.read_rows(table_name=f"{self.parent}/tables/{self.table}"):
                for chunk in answer.chunks:
                    row = bytes(chunk.row_key) or row
                    family = str(chunk.family_name) if "family_name" in chunk else family
                    named: Any = chunk.qualifier  # bytes, despite the type stub
                    column = named.decode() if "qualifier" in chunk else column
                    at = datetime.fromtimestamp(chunk.timestamp_micros / 1e6, timezone.utc)
                    known = found.setdefault(row, {})
                    known.setdefault(f"{family}:{column}", (at, bytes(chunk.value)))
        return found

    def values(self) -> dict[bytes, dict[str, bytes]]:
        """Return the newest values of all rows."""
        return {k: {n: value for n, (_, value) in row.items()} for k, row in self.cells().items()}

    def totals(self) -> dict[str, int]:
        """Return the totals in rows made by `small`."""
        return {
            key.decode(): int.from_bytes(row["sums:total"], "big", signed=True)
            for key, row in self.values().items()
        }
