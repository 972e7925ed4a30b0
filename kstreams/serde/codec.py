"""How bytes are made smaller: the contract of a codec, and gzip."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

from kstreams.errors import DeserializationError

__all__ = ("Codec", "GzipCodec", "too_large")

_GZIP = 16 + zlib.MAX_WBITS
_SHOWN_BYTES = 40


class Codec(ABC):
    """Compresses bytes, and reads what was compressed up to a bound.

    Attributes:
        name: What names of serdes begin with; tells the dictionary, if there is one.
        max_bytes: How many bytes come out at most.
    """

    name: str
    max_bytes: int

    @abstractmethod
    def compress(self, data: bytes) -> bytes:
        """Return fewer bytes, as a rule."""

    @abstractmethod
    def decompress(self, data: bytes) -> bytes:
        """Return the bytes again.

        Raises:
            DeserializationError: They are cut, damaged, followed by others, or too many.
        """

    def compress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        """Return fewer bytes of each; None of None."""
        compress = self.compress
        return [None if item is None else compress(item) for item in items]

    def decompress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        """Return the bytes of each again, or raise what `decompress` raises of one of them."""
        decompress = self.decompress
        return [None if item is None else decompress(item) for item in items]


class GzipCodec(Codec):
    """Gzip (RFC 1952), without a time, so that equal bytes are compressed alike.

    Args:
        level: 1 is fast, 9 is small.
        max_bytes: How many bytes come out at most.
    """

    name = "gzip"

    def __init__(self, level: int, max_bytes: int) -> None:
        self._level = level
        self.max_bytes = max_bytes

    def compress(self, data: bytes) -> bytes:
        """Return one member."""
        engine = zlib.compressobj(self._level, zlib.DEFLATED, _GZIP)
        return engine.compress(data) + engine.flush()

    def decompress(self, data: bytes) -> bytes:
        """Return what all members hold, one after the other."""
        rest, room = data, self.max_bytes
        pieces: list[bytes] = []
        while rest or not pieces:
            engine = zlib.decompressobj(_GZIP)
            try:
                piece = engine.decompress(rest, room + 1)
            except zlib.error as exc:
                raise DeserializationError(
                    f"expected gzip: {exc}; got {data[:_SHOWN_BYTES]!r}"
                ) from exc
            if len(piece) > room:
                raise too_large(self)
            if not engine.eof:
                raise DeserializationError(
                    f"expected gzip, which is cut short: got {data[:_SHOWN_BYTES]!r}"
                )
            pieces.append(piece)
            room -= len(piece)
            rest = engine.unused_data
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def too_large(codec: Codec) -> DeserializationError:
    """Return the error of bytes that become more than the codec lets out."""
    return DeserializationError(
        f"expected at most {codec.max_bytes:,} bytes out of {codec.name}, and there are more",
        hint="compressed(..., max_bytes=...) takes more, if it is no bomb.",
    )
