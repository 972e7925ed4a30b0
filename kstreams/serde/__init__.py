"""Serdes: conversion of keys and values to bytes and back.

- `TEXT`, `BYTES`, `INT32`, `INT64`, `DOUBLE`, `BOOL`: the formats of Java's serializers.
- `NONE`: for keys or values that are ignored.
- `kstreams_json.json_serde(T)`: dataclasses and similar types as JSON (needs the extra `json`).
- `LINES`, `csv_row(T)`: texts of several lines, and typed rows of CSV.
- `compressed(serde, codec)`: compresses the bytes of another serde; `train_dictionary` makes it
  effective for small values.
- `kstreams.windows.windowed(serde, windows)`: windowed keys in the format of Kafka Streams.
- `SchemaSerde`: a serde whose bytes a `Schema` describes; `FramedSerde`: a serde whose bytes have a
  frame in a topic, such as a schema's id in a registry.
- `SerdeByText`: creates a serde from the text of a `SerdeRequest`, for the command line.
- `FieldType`: the types of fields that functions of `columns` compute with.
- `Serde`: derive from it to write a serde; `kstreams.testing.SerdeContract` tests it. `objects_of`
  turns an Arrow column into Python objects quickly.

Example:
    >>> from kstreams.serde import INT64
    >>> INT64.deserialize(INT64.serialize(258))
    258
"""

from __future__ import annotations

from kstreams.serde.base import FieldType, Serde
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
    "FieldType",
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
