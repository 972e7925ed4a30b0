"""Rows to write later, as a table that also has their partitions and ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kstreams_kafka.outgoing import Outgoing

__all__ = ("from_table", "places", "to_table")

_PARTITION = "partition"
_PREFIX, _FIRST = b"kstreams-id-prefix", b"kstreams-first"


def to_table(rows: Outgoing) -> pa.Table:
    """Return rows as a table with a partition column, and the id prefix as metadata."""
    notes = {_FIRST: str(rows.first).encode()}
    if rows.id_prefix is not None:
        notes[_PREFIX] = rows.id_prefix.encode()
    partitions = pa.array(rows.partitions, pa.int32())
    return rows.table.append_column(_PARTITION, partitions).replace_schema_metadata(notes)


def from_table(table: pa.Table) -> Outgoing:
    """Return the rows that were passed to `to_table`."""
    notes = table.schema.metadata
    prefix = notes.get(_PREFIX)
    return Outgoing(
        table.drop_columns([_PARTITION]).replace_schema_metadata(None),
        np.asarray(table.column(_PARTITION), np.int32),
        None if prefix is None else prefix.decode(),
        int(notes[_FIRST]),
    )


def places(table: pa.Table) -> set[tuple[str, int]]:
    """Return the topics and partitions of the rows."""
    pairs = table.select(["topic", _PARTITION]).group_by(["topic", _PARTITION]).aggregate([])
    return set(zip(*(column.to_pylist() for column in pairs.columns), strict=True))
