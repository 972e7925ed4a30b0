"""Serdes: how keys and values become bytes.

- `TEXT`, `BYTES`, `INT32`, `INT64`, `DOUBLE`, `BOOL`: as Java's serializers write them.
- `NONE`: for keys or values of no interest.
- `kstreams_json.json_serde(T)`: dataclasses and the like as JSON (needs the extra `json`).
- `LINES`, `csv_row(T)`: texts of several lines, and typed rows of CSV.
- `compressed(serde, codec)`: what another serde writes, compressed; `train_dictionary` makes small
  values small.
- `kstreams.windows.windowed(serde, windows)`: keys of windows, as Kafka Streams writes them.
- `SchemaSerde`: one whose bytes a `Schema` describes; `FramedSerde`: one whose bytes have a frame
  in a topic, such as a schema's id in a registry.
- `SerdeByText`: makes a serde of what was typed, a `SerdeRequest`, for the command line.
- `Serde`: derive from it to write one; `kstreams.testing.SerdeContract` proves it. `objects_of`
  turns an Arrow column into Python objects quickly.

Example:
    >>> from kstreams.serde import INT64
    >>> INT64.deserialize(INT64.serialize(258))
    258
"""

from __future__ import annotations

from kstreams.serde.base import Serde
from kstreams.serde.by_text import SerdeByText, SerdeRequest
from kstreams.serde.compressed import compressed, train_dictionary
from kstreams.serde.csv_row import csv_row
from kstreams.serde.framed import FramedSerde
from kstreams.serde.lines import LINES
from kstreams.serde.none import NONE
from kstreams.serde.numbers import BOOL, DOUBLE, INT32, INT64
from kstreams.serde.objects import objects_of
from kstreams.serde.schema import Schema, SchemaKind, SchemaReference, SchemaSerde
from kstreams.serde.text import BYTES, TEXT

__all__ = (
    "BOOL",
    "BYTES",
    "DOUBLE",
    "INT32",
    "INT64",
    "LINES",
    "NONE",
    "TEXT",
    "FramedSerde",
    "Schema",
    "SchemaKind",
    "SchemaReference",
    "SchemaSerde",
    "Serde",
    "SerdeByText",
    "SerdeRequest",
    "compressed",
    "csv_row",
    "objects_of",
    "train_dictionary",
)
