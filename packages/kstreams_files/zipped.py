"""ZIP archives, whose members are files of any other format."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, ClassVar, TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError, KStreamsError
from kstreams.names import is_path_below, shown_name
from kstreams.quoting import text_of
from kstreams_files.files import BLOCK_BYTES, FileData
from kstreams_files.format import Mark, Rows
from kstreams_files.packed import Packed, Unpacked
from kstreams_files.seekable import Seekable

__all__ = ("Zip",)

K = TypeVar("K")
"""Type of the keys of a member's records."""
V = TypeVar("V")
"""Type of the values of a member's records."""

_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Compression methods that need bounded memory; with other methods, the data sets the amount."""
_ENTRY = b"PK\x01\x02"
_ENTRY_BYTES = 640


@dataclass(frozen=True)
class Zip(Packed[K, V]):
    """The format of ZIP archives; the members are read in the order of the archive's directory.

    No member is extracted to a disk. Keys that are file names, such as the keys of `Whole`, are
    `archive/member`. An archive cannot be read if a member is encrypted or its name leads out of
    the archive.

    Args:
        format: The format of the members.
        max_ratio: The maximum ratio of decompressed to compressed size. An archive that exceeds
            the ratio and 16 MiB cannot be read, because it may be meant to exhaust memory or time.
        max_members: The maximum number of members.
    """

    packing: ClassVar[str] = "zip"
    reads_anywhere = True

    max_members: int = 100_000

    @override
    def scan(self, data: FileData) -> Iterator[Mark]:
        record = place = 0
        yield Mark(0, 0)
        for member in self._members(data):
            end = Mark(0, 0)
            with member.named():
                self.format.head(member)
                for mark in self.format.scan(member):
                    end = mark
            record += end.record
            place += member.size + 1
            yield Mark(record, place)

    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Yield the records of the members that begin at or after the position `mark`."""
        place = 0
        for member in self._members(data):
            if place >= mark.place:
                with member.named():
                    head, begin = self.format.head(member), self._begin(member)
                    yield from self.format.read(member, head, begin)
            place += member.size + 1

    def _begin(self, member: FileData) -> Mark:
        """Return the position of a member's first record in the member."""
        return next(self.format.scan(member))

    def _members(self, data: FileData) -> Iterator[_Member]:
        """Yield the members without directories, after checking their number and total size."""
        with _zip_errors():
            archive = zipfile.ZipFile(_Directory(data, self.max_members))
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if len(infos) > self.max_members:
            raise _too_many(len(infos), self.max_members)
        self.check_bytes(data, sum(info.file_size for info in infos))
        for info in infos:
            if not is_path_below(info.filename):
                raise DeserializationError(
                    f"the name of member {shown_name(info.filename)} is not a relative path that "
                    "stays in the archive"
                )
            if info.flag_bits & _ENCRYPTED:
                raise DeserializationError(f"member {shown_name(info.filename)} is encrypted")
            if info.compress_type not in _METHODS:
                raise DeserializationError(
                    f"member {shown_name(info.filename)} is compressed by method "
                    f"{info.compress_type}; expected stored, deflate or bzip2"
                )
            yield _Member(data, archive, info)


class _Directory(Seekable):
    """A file object for an archive that rejects a directory with too many members.

    Args:
        data: The archive.
        most: The maximum number of members.
    """

    def __init__(self, data: FileData, most: int) -> None:
        super().__init__(data)
        self._most = most

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes of the archive.

        `zipfile` reads the whole directory in one call, which is therefore checked here.

        Raises:
            DeserializationError: The directory has more than `most` members.
        """
        if size is not None and size > max(BLOCK_BYTES, self._most * _ENTRY_BYTES):
            raise DeserializationError(
                f"the archive's directory has {size:,} bytes, too many for {self._most:,} members",
                hint="if the file is legitimate, raise max_members of Zip.",
            )
        found = super().read(size)
        if found.startswith(_ENTRY) and (count := found.count(_ENTRY)) > self._most:
            raise _too_many(count, self._most)
        return found


def _too_many(count: int, most: int) -> DeserializationError:
    return DeserializationError(
        f"the archive has {count:,} members, more than {most:,}",
        hint="if the file is legitimate, raise max_members of Zip.",
    )


class _Member(Unpacked):
    """The content of a member, up to the size in the archive's directory."""

    def __init__(self, data: FileData, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        super().__init__(data, f"{data.name}/{info.filename}", info.file_size)
        self._archive = archive
        self._info = info

    @contextmanager
    def named(self) -> Iterator[None]:
        """Add the name of the member to decoding errors in the block."""
        try:
            yield
        except DeserializationError as exc:
            raise DeserializationError(
                f"member {shown_name(self._info.filename)}: {exc.message}", hint=exc.hint
            ) from exc

    def all(self) -> Iterator[bytes]:
        """Yield the whole content; its checksum is checked at the end."""
        with _zip_errors():
            stream: IO[bytes] = self._archive.open(self._info)
            with stream:
                passed = 0
                while block := stream.read(BLOCK_BYTES):
                    passed += len(block)
                    yield block
                if passed != self.size:
                    raise DeserializationError(
                        f"the content has {passed:,} bytes, expected {self.size:,} as in the "
                        "archive's directory"
                    )


@contextmanager
def _zip_errors() -> Iterator[None]:
    """Convert errors of an archive in the block to decoding errors."""
    try:
        yield
    except KStreamsError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        NotImplementedError,
        EOFError,
        OSError,
    ) as exc:
        raise DeserializationError(
            f"the file is not a complete ZIP archive: {text_of(exc)}"
        ) from exc
    except (RuntimeError, ValueError, OverflowError) as exc:
        raise DeserializationError(
            f"the file is not a readable ZIP archive: {text_of(exc)}"
        ) from exc
