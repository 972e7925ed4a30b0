"""The schema of an Iceberg table, and the check that the sink can write to it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kstreams.errors import SinkError
from kstreams_iceberg.sdk import Catalog, Table, exceptions
from kstreams_rows.column_types import check_columns, missing_columns

__all__ = ("add_missing", "check", "make")

_FORMAT = "write.format.default"


def make(catalog: Catalog, name: str, rows: pa.Schema, partitions: Sequence[str]) -> None:
    """Create a table, unless it was created in the meantime.

    Raises:
        SinkError: The namespace does not exist.
    """
    try:
        making = catalog.create_table_transaction(name, rows)
        with making.update_spec() as spec:
            for column in partitions:
                spec.add_identity(column)
        making.commit_transaction()
    except (exceptions.TableAlreadyExistsError, exceptions.CommitFailedException):
        return
    except exceptions.NoSuchNamespaceError:
        raise SinkError(
            f"the catalog has no namespace for table {name}",
            hint="create the namespace, or correct the name of the table.",
        ) from None


def add_missing(table: Table, rows: pa.Schema) -> None:
    """Add the columns that rows have and the table lacks; existing rows have nulls there."""
    missing = missing_columns(rows, table.schema().as_arrow())
    if missing:
        with table.update_schema() as update:
            update.union_by_name(pa.schema([each.with_nullable(True) for each in missing]))


def check(table: Table, rows: pa.Schema, name: str) -> None:
    """Check that a table can store rows, as Parquet files.

    Raises:
        SinkError: The table cannot store the rows.
    """
    written = table.properties.get(_FORMAT, "parquet")
    if written.lower() != "parquet" or table.metadata.format_version > 2:
        raise SinkError(
            f"table {name} has format version {table.metadata.format_version} and {written} files; "
            "expected version 1 or 2 and parquet files",
            hint="write to a table of format version 1 or 2 whose property write.format.default is "
            "parquet or not set.",
        )
    check_columns(rows, table.schema().as_arrow(), name)
