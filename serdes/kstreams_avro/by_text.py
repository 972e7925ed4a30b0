"""Avro on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kstreams import Serde
from kstreams.serde import SerdeByText, SerdeRequest
from kstreams_avro.serde import avro_serde

__all__ = ("BY_TEXT",)


def _make(request: SerdeRequest) -> Serde[Any]:
    if not request.text:
        raise ValueError("the file of a schema is wanted")
    return avro_serde(schema=Path(request.text))


BY_TEXT = SerdeByText("avro:FILE", "Avro without a frame, by the schema in a file", _make)
"""What `avro` means there."""
