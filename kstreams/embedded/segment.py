"""Segments: files with consecutive rows of one partition, which never change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b

__all__ = ("APPENDING", "PARQUET", "ROWS", "Segment", "Staged", "producer_hash")

PARQUET, ROWS = "parquet", "rows"
"""The encodings of files, which are the suffixes of their names."""

_SEGMENT = re.compile(
    r"(\d{20})-([1-9]\d{0,18})-(\d{1,19})-([0-9a-f]{16})-(\d+)\.(parquet|rows)", re.ASCII
)
_STAGED = re.compile(r"[0-9a-f]+-([1-9]\d{0,18})-(\d{1,19})\.(parquet|rows)", re.ASCII)
_OFFSETS = 1 << 63
"""The exclusive maximum of offsets."""


APPENDING = "0" * 16
"""The owner of files of `EmbeddedLog.append`, which stages and publishes in one call."""


def producer_hash(producer: str) -> str:
    """Return 16 hexadecimal digits that identify a producer in file names."""
    return blake2b(producer.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Segment:
    """One published file of a partition with `count` offsets from `first_offset`.

    The file's name contains all attributes, so planning opens no file, and the name alone
    identifies a segment in another process (`parse`).

    Args:
        topic: Name of the topic.
        partition: Number of the partition.
        first_offset: Offset of the first row; row i has `first_offset + i`.
        count: Number of rows, at least 1.
        max_timestamp: The greatest timestamp, milliseconds since the epoch.
        producer: `producer_hash` of the producer.
        batch: The producer's number of the segment; each pair of producer and batch is published
            once.
        encoding: `PARQUET` or `ROWS`.
    """

    topic: str
    partition: int
    first_offset: int
    count: int
    max_timestamp: int
    producer: str
    batch: int
    encoding: str = PARQUET

    @property
    def end_offset(self) -> int:
        """The offset after the last row."""
        return self.first_offset + self.count

    @property
    def name(self) -> str:
        """The file's name; names sort as offsets do."""
        return (
            f"{self.first_offset:020d}-{self.count}-{self.max_timestamp}"
            f"-{self.producer}-{self.batch}.{self.encoding}"
        )

    @staticmethod
    def parse(topic: str, partition: int, name: str) -> Segment | None:
        """Parse a file's name; return None if it is not a segment's."""
        found = _SEGMENT.fullmatch(name)
        if found is None:
            return None
        first, count, latest, producer, batch, encoding = found.groups()
        if int(first) + int(count) > _OFFSETS:
            return None
        return Segment(
            topic, partition, int(first), int(count), int(latest), producer, int(batch), encoding
        )


@dataclass(frozen=True, slots=True)
class Staged:
    """The parts of the file name of a complete segment that is not visible yet.

    Args:
        attempt: Hexadecimal digits that are unique to the attempt: 16 for its owner, and 32 more.
        count: Number of rows.
        max_timestamp: The greatest timestamp, milliseconds since the epoch.
        encoding: `PARQUET` or `ROWS`.
    """

    attempt: str
    count: int
    max_timestamp: int
    encoding: str = PARQUET

    @property
    def name(self) -> str:
        """The file's name below the partition's staging directory."""
        return f"{self.attempt}-{self.count}-{self.max_timestamp}.{self.encoding}"

    @property
    def owner(self) -> str:
        """`producer_hash` of the owner that `EmbeddedLog.stage` was given.

        `APPENDING` for a file of `EmbeddedLog.append`; empty in names of older versions.
        """
        return self.attempt[:-32]

    @staticmethod
    def parse(name: str) -> Staged | None:
        """Parse a file's name; return None if it is not a staged segment's."""
        found = _STAGED.fullmatch(name)
        if found is None:
            return None
        return Staged(name.partition("-")[0], int(found[1]), int(found[2]), found[3])
