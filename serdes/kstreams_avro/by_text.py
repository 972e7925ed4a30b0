"""The Avro serdes that options of the command line can name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kstreams import Serde
from kstreams.serde import SerdeByText, SerdeRequest
from kstreams_avro.serde import avro_serde

__all__ = ("BY_TEXT", "JSON_BY_TEXT")


def _binary(request: SerdeRequest) -> Serde[Any]:
    return avro_serde(schema=_schema_file(request))


def _json(request: SerdeRequest) -> Serde[Any]:
    return avro_serde(schema=_schema_file(request), encoding="json")


def _schema_file(request: SerdeRequest) -> Path:
    if not request.text:
        raise ValueError("the name of a schema file is missing, as in avro:order.avsc")
    return Path(request.text)


BY_TEXT = SerdeByText("avro:FILE", "Avro without a schema id, with the schema in FILE", _binary)
"""The serde `avro` of the command line."""

JSON_BY_TEXT = SerdeByText("avro-json:FILE", "Avro as JSON, with the schema in FILE", _json)
"""The serde `avro-json` of the command line."""
