"""Serdes that compress the bytes of another serde."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

import pyarrow as pa
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.options import checks_options
from kstreams.serde.base import Serde
from kstreams.serde.codec import Codec, GzipCodec
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.objects import objects_of

__all__ = ("CodecName", "CompressedSerde", "compressed", "train_dictionary")

CodecName = Literal["zstd", "gzip"]
"""Compression formats: `zstd` for your own topics, `gzip` for topics shared with other systems."""

T = TypeVar("T")
"""The type that a serde converts."""

_MAX_BYTES = 4 << 20
_LEVELS: dict[CodecName, int] = {"zstd": 3, "gzip": 6}


@checks_options
def compressed(
    serde: Serde[T],
    codec: CodecName = "zstd",
    *,
    dictionary: bytes | None = None,
    older: Sequence[bytes] = (),
    level: int | None = None,
    max_bytes: int = _MAX_BYTES,
) -> Serde[T]:
    """Return a serde that compresses the bytes of another serde.

    Small values hardly shrink one by one: the compression of whole batches by Kafka saves more. A
    dictionary of the values' common content (`train_dictionary`) helps: a tenth to a third of the
    bytes remain. Its digest is part of the serde's name, so that a store is never read with another
    dictionary. To change the dictionary of a topic, add it to `older` in all readers first.

    Use it for values. Another version of the codec may write other bytes for the same object, so
    such bytes are not suitable for keys, which are compared.

    Args:
        serde: The serde to compress; its errors, columns and fields stay the same.
        codec: `zstd` (with the extra `zstd`) or `gzip`.
        dictionary: The dictionary with which zstd frames are written and read.
        older: More dictionaries with which frames are read.
        level: The compression level: 1 to 22 for zstd (default 3), 1 to 9 for gzip (default 6).
        max_bytes: The size limit of a value. Larger values are a `SerializationError`; compressed
            data of larger values is a `DeserializationError` before memory is allocated for them,
            because few bytes can decompress to thousands of times as many.

    Raises:
        ValueError: A dictionary is given for gzip, or is not a trained dictionary.
        ImportError: zstd is not installed; the message has the command that installs it.

    Example:
        >>> from kstreams.serde import TEXT, compressed
        >>> packed = compressed(TEXT, "gzip")
        >>> packed.name, len(packed.serialize("tea " * 1000)) < 50
        ('gzip(text)', True)
    """
    return CompressedSerde(serde, codec, dictionary, tuple(older), level, max_bytes)


def train_dictionary(serde: Serde[T], values: Iterable[T], *, size: int = 4096) -> bytes:
    """Return a dictionary for `compressed`, trained on typical values.

    Keep the dictionary as a file with the code: values that were compressed with it cannot be read
    without it. Needs the extra `zstd`.

    Args:
        serde: The serde that is passed to `compressed`.
        values: Some thousands of typical values.
        size: The size limit of the dictionary in bytes; 4 KB suffice for values of 100 bytes.

    Raises:
        ValueError: The values are too few or too small to learn from.
    """
    from kstreams.serde.zstd import train  # noqa: PLC0415  # only where zstd is in use

    return train([serde.serialize(value) for value in values], size)


class CompressedSerde(CompositeSerde[T]):
    """The serde that `compressed` returns, with the same arguments."""

    def __init__(
        self,
        serde: Serde[T],
        codec: CodecName,
        dictionary: bytes | None,
        older: tuple[bytes, ...],
        level: int | None,
        max_bytes: int,
    ) -> None:
        self._codec = _codec(codec, dictionary, older, level, max_bytes)
        super().__init__(self._codec.name, serde)
        self._serde = serde
        self._settings = (codec, dictionary, older, level, max_bytes)
        self.hashes_by_bytes = False  # another compressor makes others
        self.type_token = serde.type_token
        self.arrow_type = serde.arrow_type

    def serialize(self, value: T) -> bytes:
        """Convert and compress; too many bytes are a `SerializationError`."""
        data = self._serde.serialize(value)
        self._check(len(data))
        return self._codec.compress(data)

    def deserialize(self, data: bytes) -> T:
        """Decompress and convert; too many bytes are a `DeserializationError`."""
        return self._serde.deserialize(self._codec.decompress(data))

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        return self._packed(self._serde.serialize_many(values))

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        try:
            found: list[T | None] = []
            for portion in self._portions(data):
                found += self._serde.deserialize_many(portion)
        except DeserializationError:
            return super().deserialize_many(data)
        return found

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Decompress and decode; return the data unchanged if the inner serde has no columns."""
        if self.arrow_type == pa.binary():
            return data
        try:
            return pa.concat_arrays([self._serde.to_arrow(p) for p in self._portions(data)])
        except DeserializationError:
            super().deserialize_many(data)  # names the first failing element
            raise

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Convert as the inner serde does, and compress; undecoded bytes are compressed already."""
        if self.arrow_type == pa.binary():
            return super().from_arrow(column)
        return self._packed(self._serde.from_arrow(column))

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        if self.arrow_type != pa.binary():
            return self._serde.field(column, name, kind)
        portions = self._portions(column)
        return pa.concat_arrays([self._serde.field(each, name, kind) for each in portions])

    def _packed(self, data: pa.Array) -> pa.Array:
        items: list[bytes | None] = objects_of(data)
        self._check(max((len(item) for item in items if item is not None), default=0))
        return pa.array(self._codec.compress_many(items), pa.binary())

    def _portions(self, data: pa.Array) -> list[pa.Array]:
        """Decompress an array; into several arrays if the result exceeds the limit of one array."""
        unpacked = pa.array(self._codec.decompress_many(objects_of(data)), pa.binary())
        return unpacked.chunks if isinstance(unpacked, pa.ChunkedArray) else [unpacked]

    def _check(self, size: int) -> None:
        if size > self._codec.max_bytes:
            raise SerializationError(
                f"expected at most {self._codec.max_bytes:,} bytes of {self._serde.name}, "
                f"got {size:,}",
                hint="raise the limit of writers and readers with compressed(..., max_bytes=...).",
            )

    def __eq__(self, other: object) -> bool:
        """Compare the inner serde and the settings."""
        return super().__eq__(other) and self._settings == getattr(other, "_settings", None)

    @override
    def __hash__(self) -> int:
        return hash(self.name)

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._serde, *self._settings)


def _codec(
    name: CodecName,
    dictionary: bytes | None,
    older: tuple[bytes, ...],
    level: int | None,
    max_bytes: int,
) -> Codec:
    if max_bytes < 1:
        raise ValueError(f"max_bytes is {max_bytes}, expected at least 1")
    strength = _LEVELS[name] if level is None else level
    if name == "gzip":
        if dictionary is not None or older:
            raise ValueError(
                "gzip has no dictionaries: pass codec='zstd', or remove dictionary= and older="
            )
        return GzipCodec(strength, max_bytes)
    from kstreams.serde.zstd import ZstdCodec  # noqa: PLC0415  # only where zstd is in use

    return ZstdCodec(strength, max_bytes, dictionary, older)
