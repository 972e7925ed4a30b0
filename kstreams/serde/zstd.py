"""Compression with Zstandard and trained dictionaries. Needs the extra `zstd`."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from typing_extensions import override

try:
    import zstandard
except ImportError as exc:
    raise ImportError("zstd needs zstandard: pip install 'kstreams-spark[zstd]'") from exc

from kstreams.errors import DeserializationError
from kstreams.serde.codec import Codec, too_large

__all__ = ("ZstdCodec", "train")

_DIGEST_DIGITS = 8
_SHOWN_BYTES = 40
_WINDOW_BYTES = 8 << 20  # every reader of the format should accept this


class ZstdCodec(Codec):
    """Compresses to one frame of Zstandard (RFC 8878), whose header has the uncompressed length.

    Contexts of the package zstandard are not thread-safe, so each thread has its own.

    Args:
        level: The compression level: 1 is fast, 22 is small.
        max_bytes: The limit for decompressed bytes.
        dictionary: The dictionary with which frames are written.
        older: Dictionaries of older frames that can still be read.

    Raises:
        ValueError: A dictionary is not a trained dictionary.
    """

    def __init__(
        self, level: int, max_bytes: int, dictionary: bytes | None, older: Sequence[bytes]
    ) -> None:
        self.max_bytes = max_bytes
        self.name = "zstd"
        if dictionary is not None:
            self.name += f":{sha256(dictionary).hexdigest()[:_DIGEST_DIGITS]}"
        self._level = level
        self._current = None if dictionary is None else _dictionary(dictionary)
        known = [] if self._current is None else [self._current]
        self._dictionaries = {each.dict_id(): each for each in (*known, *map(_dictionary, older))}
        self._contexts = threading.local()

    def compress(self, data: bytes) -> bytes:
        """Return the bytes as one frame."""
        frame: bytes = self._compressor().compress(data)
        return frame

    @override
    def compress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        compress = self._compressor().compress
        return [None if item is None else compress(item) for item in items]

    def decompress(self, data: bytes) -> bytes:
        """Return the content of a frame; a frame without its length is read up to the limit."""
        try:
            frame = zstandard.get_frame_parameters(data)
            if frame.dict_id not in (0, *self._dictionaries):
                raise DeserializationError(
                    f"expected a frame of {self.name}, got a frame of dictionary id "
                    f"{frame.dict_id}",
                    hint="to read frames of an older dictionary, pass it in compressed(..., "
                    "older=[...]).",
                )
            engine = self._decompressor(frame.dict_id)
            if frame.content_size != zstandard.CONTENTSIZE_UNKNOWN:
                if frame.content_size > self.max_bytes:
                    raise too_large(self)
                found: bytes = engine.decompress(data, allow_extra_data=False)
                return found
            return self._decompress_slowly(engine, data)
        except zstandard.ZstdError as exc:
            raise DeserializationError(
                f"expected {self.name}: {exc}; got {data[:_SHOWN_BYTES]!r}"
            ) from exc

    @override
    def decompress_many(self, items: Sequence[bytes | None]) -> list[bytes | None]:
        frames = [item for item in items if item is not None]
        try:
            sizes = list(map(zstandard.frame_content_size, frames))
            if frames and (min(sizes) < 0 or max(sizes) > self.max_bytes):
                return super().decompress_many(items)
            id_ = 0 if self._current is None else self._current.dict_id()
            decompress = self._decompressor(id_).decompress
            found = iter([decompress(frame, allow_extra_data=False) for frame in frames])
        except zstandard.ZstdError:  # one is damaged, or of another dictionary
            return super().decompress_many(items)
        return [None if item is None else next(found) for item in items]

    def _decompress_slowly(self, engine: Any, data: bytes) -> bytes:  # noqa: ANN401  # untyped
        """Read a frame without a content size, without allocating `max_bytes` in advance."""
        reader = engine.stream_reader(data, read_across_frames=False)
        found: bytes = reader.read(self.max_bytes + 1)
        if len(found) > self.max_bytes:
            raise too_large(self)
        whole = engine.decompressobj()
        if whole.decompress(data) != found or not whole.eof or whole.unused_data:
            raise DeserializationError(
                f"expected one whole frame of {self.name}, got {data[:_SHOWN_BYTES]!r}"
            )
        return found

    def _compressor(self) -> Any:  # noqa: ANN401  # zstandard's classes come from C
        made = getattr(self._contexts, "compressor", None)
        if made is None:
            made = zstandard.ZstdCompressor(level=self._level, dict_data=self._current)
            self._contexts.compressor = made
        return made

    def _decompressor(self, dictionary: int) -> Any:  # noqa: ANN401  # as above
        made = getattr(self._contexts, f"of_{dictionary}", None)
        if made is None:
            made = zstandard.ZstdDecompressor(
                dict_data=self._dictionaries.get(dictionary),
                max_window_size=max(_WINDOW_BYTES, 2 * self.max_bytes),
            )
            setattr(self._contexts, f"of_{dictionary}", made)
        return made


def train(samples: Sequence[bytes], size: int) -> bytes:
    """Return a dictionary of at most `size` bytes, trained on samples.

    Raises:
        ValueError: The samples are too few or too small.
    """
    try:
        return zstandard.train_dictionary(size, list(samples)).as_bytes()
    except (zstandard.ZstdError, ValueError) as exc:
        raise ValueError(
            f"cannot train a dictionary of {size:,} bytes on {len(samples):,} samples: {exc}\n"
            "Hint: pass some thousands of values, in total 100 times as many bytes as size=."
        ) from exc


def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict:
    made = zstandard.ZstdCompressionDict(data)
    if not made.dict_id():
        raise ValueError(
            f"expected a trained dictionary of zstd, got {len(data):,} bytes: {data[:20]!r}\n"
            "Hint: create one with train_dictionary; each frame then has the id of its dictionary."
        )
    return made
