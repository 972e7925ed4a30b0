"""A serde with the name that is recorded in a store, for readers without the app's code."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.serde.base import Serde
from kstreams.serde.text import BYTES

__all__ = ("RecordedSerde", "undecoded")


class RecordedSerde(Serde[Any]):
    """A serde with a recorded name that uses another serde to read and write bytes.

    Args:
        name: The recorded name.
        serde: The serde that reads the bytes; None if it is not known, so that values stay bytes.
    """

    def __init__(self, name: str, serde: Serde[Any] | None = None) -> None:
        self.name = name
        self.is_undecoded = serde is None
        self._serde: Serde[Any] = BYTES if serde is None else serde
        self.type_token = self._serde.type_token
        self.arrow_type = self._serde.arrow_type
        for method in ("to_json", "from_json"):
            if hasattr(self._serde, method):
                setattr(self, method, getattr(self._serde, method))

    @override
    def serialize(self, value: object) -> bytes:
        return self._serde.serialize(value)

    @override
    def deserialize(self, data: bytes) -> object:
        return self._serde.deserialize(data)

    @override
    def to_arrow(self, data: pa.Array) -> pa.Array:
        return self._serde.to_arrow(data)

    @property
    def ordered(self) -> Serde[Any]:
        """The `ordered` variant of the inner serde, with the same recorded name."""
        inner = self._serde.ordered
        if inner is self._serde:
            return self
        return RecordedSerde(self.name, None if self.is_undecoded else inner)


def undecoded(key: Serde[Any], value: Serde[Any]) -> str:
    """Return a text that says whether keys or values are shown as bytes; empty if neither is."""
    parts = [
        f"{part} of serde {serde.name!r}"
        for part, serde in (("keys", key), ("values", value))
        if isinstance(serde, RecordedSerde) and serde.is_undecoded
    ]
    return f"shown as bytes: {' and '.join(parts)}" if parts else ""
