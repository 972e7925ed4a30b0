"""A framed serde of tests: a version byte before text; version 2 is written reversed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.errors import DeserializationError, RegistryUnavailableError
from kstreams.serde import TEXT, FramedSerde, objects_of


class VersionedText(FramedSerde[str]):
    """Text after the byte 1; after 2 the text is reversed; 9 simulates an unavailable registry."""

    def __init__(self, *, apart: bool = False) -> None:
        super().__init__("versioned", TEXT)
        self.apart = apart
        self.learned: list[bytes] = []
        self.prepared: list[bool] = []

    @property
    def frame(self) -> bytes:
        return b"\x01\x01" if self.apart else b"\x01"

    def in_topic(self, topic: str, part: str, *, apart: bool) -> VersionedText:
        return VersionedText(apart=apart) if apart else self

    def prepare(self, *, writes: bool) -> None:
        self.prepared.append(writes)

    def learn(self, data: pa.Array) -> None:
        firsts = {item[:1] for item in objects_of(data) if item is not None}
        self.learned.extend(sorted(firsts))
        if b"\x09" in firsts:
            raise RegistryUnavailableError("no answer")

    def to_plain(self, data: pa.Array) -> pa.Array:
        return pa.array([self._one(item) for item in objects_of(data)], pa.binary())

    def _one(self, data: bytes | None) -> bytes | None:
        if data is None:
            return None
        if data[:2] == b"\x01\x01":
            return data[2:]
        if data[:1] == b"\x01":
            return data[1:]
        if data[:1] == b"\x02":
            return data[:0:-1]
        raise DeserializationError(f"no version: {data[:1]!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionedText) and self.apart == other.apart

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.apart,)


def _made(apart: bool) -> VersionedText:
    return VersionedText(apart=apart)
