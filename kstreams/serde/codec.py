"""Compression of bytes: the contract of a codec, and gzip."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from kstreams.errors import DeserializationError

__all__ = ("Codec", "GzipCodec", "too_large")

_GZIP = 16 + zlib.MAX_WBITS
_SHOWN_BYTES = 40
_SLICE_BYTES = 16 * 1024


class Codec(ABC):
    """Compresses bytes, and decompresses them up to a limit.

    Attributes:
        name: The prefix of the names of serdes; it identifies the dictionary, if there is one.
        max_bytes: The limit for decompressed bytes.
    """

    name: str
    max_bytes: int

    @abstractmethod
    def compress(self, data: bytes) -> bytes:
        """Return the compressed bytes, which are usually fewer."""

    @abstractmethod
    def decompress(self, data: bytes) -> bytes:
        """Return the decompressed bytes.

        Raises:
            DeserializationError: The bytes are truncated, damaged or followed by other bytes, or
                decompress to more than `max_bytes`.
        """

    def compress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        """Return each item compressed; None stays None."""
        compress = self.compress
        return [None if item is None else compress(item) for item in items]

    def decompress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        """Return each item decompressed; None stays None. Raises the errors of `decompress`."""
        decompress = self.decompress
        return [None if item is None else decompress(item) for item in items]


class GzipCodec(Codec):
    """Compresses with gzip (RFC 1952), without a timestamp: equal bytes compress to equal bytes.

    Args:
        level: The compression level: 1 is fast, 9 is small.
        max_bytes: The limit for decompressed bytes.
    """

    name = "gzip"

    def __init__(self, level: int, max_bytes: int) -> None:
        self._level = level
        self.max_bytes = max_bytes

    def compress(self, data: bytes) -> bytes:
        """Return the bytes as one gzip member."""
        engine = zlib.compressobj(self._level, zlib.DEFLATED, _GZIP)
        return engine.compress(data) + engine.flush()

    def decompress(self, data: bytes) -> bytes:
        """Return the concatenated content of all gzip members."""
        pieces: list[bytes] = []
        room = self.max_bytes
        try:
            for piece in self._pieces(data):
                pieces.append(piece)
                room -= len(piece)
                if room < 0:
                    raise too_large(self)
        except zlib.error as exc:
            raise DeserializationError(
                f"expected gzip: {exc}; got {data[:_SHOWN_BYTES]!r}"
            ) from exc
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the content of all gzip members, in chunks of at most `max_bytes` + 1 bytes.

        The data is read in slices, because the rest of it is copied at the end of each member. A
        member can be a few bytes long, so copies of the whole rest would take quadratic time.
        """
        engine = zlib.decompressobj(_GZIP)
        for start in range(0, len(data), _SLICE_BYTES):
            left = data[start : start + _SLICE_BYTES]
            while left:
                if engine.eof:
                    engine = zlib.decompressobj(_GZIP)
                yield engine.decompress(left, self.max_bytes + 1)
                left = engine.unused_data if engine.eof else engine.unconsumed_tail
        if not engine.eof:
            raise DeserializationError(
                f"expected gzip: the data is cut short; got {data[:_SHOWN_BYTES]!r}"
            )


def too_large(codec: Codec) -> DeserializationError:
    """Return the error for bytes that decompress to more than the codec's limit."""
    return DeserializationError(
        f"expected at most {codec.max_bytes:,} bytes after decompression by {codec.name}, got more",
        hint="raise the limit with compressed(..., max_bytes=...), unless the data may be a "
        "decompression bomb.",
    )
