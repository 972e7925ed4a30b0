"""Archives of ZIP, whose members are files of whichever format."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TypeVar

from kstreams.errors import DeserializationError, KStreamsError
from kstreams.file_logs.files import BLOCK_BYTES, FileData
from kstreams.file_logs.format import Format, Mark, Rows, check_from_the_beginning
from kstreams.file_logs.seekable import Seekable
from kstreams.names import is_path_below, shown_name
from kstreams.quoting import text_of
from kstreams.serde.base import Serde

__all__ = ("Zip",)

K = TypeVar("K")
"""Type of the keys of a member's records."""
V = TypeVar("V")
"""Type of their values."""

_FREE_BYTES = 16 * 1024 * 1024
_ENCRYPTED = 1


@dataclass(frozen=True)
class Zip(Format[K, V]):
    """Each file is an archive, whose members are files, in the order of its directory.

    Nothing is unpacked to a disk. Keys that are names, as those of `Whole`, are `archive/member`.
    An archive cannot be read if a member is encrypted or its name leads elsewhere.

    Args:
        format: What is in the members.
        max_ratio: An archive that becomes so many times larger, and more than 16 MiB, cannot be
            read: it is made to fill memory or time.
        max_members: Nor can one of more members.
    """

    format: Format[K, V]
    max_ratio: int = 200
    max_members: int = 100_000
    key: Serde[K] = field(init=False, compare=False)
    value: Serde[V] = field(init=False, compare=False)
    name: str = field(init=False, compare=False)
    reads_anywhere = True

    def __post_init__(self) -> None:
        """Take over what the format says; `TypeError` for one that has to be read from anywhere."""
        check_from_the_beginning(self.format)
        object.__setattr__(self, "key", self.format.key)
        object.__setattr__(self, "value", self.format.value)
        object.__setattr__(self, "name", f"zip({self.format.name})")

    def scan(self, data: FileData) -> Iterator[Mark]:
        """Look through the members."""
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
        """Read members, the first one that begins at the mark first."""
        place = 0
        for member in self._members(data):
            if place >= mark.place:
                with member.named():
                    head, begin = self.format.head(member), self._begin(member)
                    yield from self.format.read(member, head, begin)
            place += member.size + 1

    def _begin(self, member: FileData) -> Mark:
        """Return where a member's first record is."""
        return next(self.format.scan(member))

    def _members(self, data: FileData) -> Iterator[_Member]:
        """Yield the members, without directories, as far as they are not too large together."""
        with _zip_errors():
            archive = zipfile.ZipFile(Seekable(data))
        infos = [info for info in archive.infolist() if not info.is_dir()]
        most = max(_FREE_BYTES, data.size * self.max_ratio)
        if len(infos) > self.max_members:
            raise DeserializationError(
                f"it has {len(infos):,} members, more than {self.max_members:,}",
                hint="raise max_members of Zip, if it is right.",
            )
        if sum(info.file_size for info in infos) > most:
            raise DeserializationError(
                f"its {data.size:,} bytes become more than {most:,}",
                hint="raise max_ratio of Zip, if it is right.",
            )
        for info in infos:
            if not is_path_below(info.filename):
                raise DeserializationError(
                    f"a member's name leads elsewhere: {shown_name(info.filename)}"
                )
            if info.flag_bits & _ENCRYPTED:
                raise DeserializationError(f"member {shown_name(info.filename)} is encrypted")
            yield _Member(data, archive, info)


class _Member(FileData):
    """What comes out of a member: no more than the archive's directory says."""

    def __init__(self, data: FileData, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._data = data
        self._archive = archive
        self._info = info
        self.name = f"{data.name}/{info.filename}"
        self.size = info.file_size

    @contextmanager
    def named(self) -> Iterator[None]:
        """Say of an error which member it is of."""
        try:
            yield
        except DeserializationError as exc:
            raise DeserializationError(
                f"member {shown_name(self._info.filename)}: {exc.message}", hint=exc.hint
            ) from exc

    def read(self, start: int, length: int) -> bytes:
        """Return bytes of what comes out."""
        found = bytearray()
        for block in self.blocks(start):
            found += block[: length - len(found)]
            if len(found) == length:
                break
        return bytes(found)

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield what comes out, from a byte of it on; checks its sum at the end."""
        with _zip_errors():
            stream: IO[bytes] = self._archive.open(self._info)
            with stream:
                passed = 0
                while block := stream.read(BLOCK_BYTES):
                    passed += len(block)
                    if passed > start:
                        yield block[max(start - passed, -len(block)) :] if start else block
                if passed != self.size:
                    raise DeserializationError(
                        f"it has {passed:,} bytes, and the archive's directory says {self.size:,}"
                    )

    def check(self) -> None:
        """Check the archive."""
        self._data.check()

    def close(self) -> None:
        """Close the archive."""
        self._data.close()


@contextmanager
def _zip_errors() -> Iterator[None]:
    """Say of what an archive cannot be read by that it does not decode."""
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
        raise DeserializationError(f"it is no whole ZIP: {text_of(exc)}") from exc
    except (RuntimeError, ValueError, OverflowError) as exc:
        raise DeserializationError(f"it is no ZIP that can be read: {text_of(exc)}") from exc
