"""The MessagePack serde that options of the command line can name."""

from __future__ import annotations

from typing import Any

from kstreams import Serde
from kstreams.serde import SerdeByText, SerdeRequest
from kstreams_msgpack.serde import msgpack_serde

__all__ = ("BY_TEXT",)


def _make(request: SerdeRequest) -> Serde[Any]:
    if request.text:
        raise ValueError(f"expected nothing after 'msgpack', got {request.text!r}")
    return msgpack_serde(object)


def _recorded(name: str) -> Serde[Any] | None:
    is_ours = name.startswith(("msgpack[", "msgpack-by-place[")) and name.endswith("]")
    return msgpack_serde(object) if is_ours else None


BY_TEXT = SerdeByText("msgpack", "any MessagePack value", _make, _recorded)
"""The serde of the text `msgpack`."""
