"""The protobuf serde that options of the command line can name."""

from __future__ import annotations

from typing import Any

from kstreams import Serde
from kstreams.serde import SerdeByText, SerdeRequest
from kstreams_protobuf.serde import descriptor_serde

__all__ = ("BY_TEXT",)


def _make(request: SerdeRequest) -> Serde[Any]:
    path, mark, message = request.text.rpartition("#")
    if not mark or not path or not message:
        raise ValueError(
            "expected FILE#MESSAGE (a file with a set of descriptors, and the full name of a "
            "message), got "
            f"{request.text!r}"
        )
    return descriptor_serde(path, message)


BY_TEXT = SerdeByText(
    "protobuf:FILE#MESSAGE",
    "Protobuf; create FILE with protoc --include_imports --descriptor_set_out=FILE",
    _make,
)
"""The serde of the text `protobuf`."""
