"""The start and end positions of logs, with the interface of topics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from kstreams.batch.io.source_positions import SourcePositions
from kstreams.connection import TopicEnds
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition
from kstreams.log import Log, LogContents, ReadOnce, RetainedSize, RetainsUncommitted

__all__ = ("LogPositions",)


class LogPositions:
    """`SourcePositions` of logs, and of topics through a connection.

    A context manager: leaving it closes the opened logs.

    Args:
        others: The positions of topics.
        logs: The logs by name.
    """

    def __init__(self, others: SourcePositions, logs: Mapping[str, Log[Any, Any]]) -> None:
        self._others = others
        self._logs = logs
        self._opened: dict[str, LogContents] = {}
        self._last_ends: dict[str, tuple[float, TopicEnds]] = {}

    def of(self, name: str) -> LogContents | None:
        """Return the contents of a log; None if the name is not that of a log."""
        if name not in self._logs:
            return None
        if name not in self._opened:
            self._opened[name] = self._logs[name].contents()
        return self._opened[name]

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a log or topic."""
        return len(self.ends(topic).offsets)

    def ends(self, topic: str) -> TopicEnds:
        """Return the id and the end offsets of a log or topic."""
        log = self.of(topic)
        if log is None:
            return self._others.ends(topic)
        with _named(topic):
            found = TopicEnds(log.log_id, log.ends())
        self._last_ends[topic] = time.monotonic(), found
        return found

    def known_ends(self, topic: str, look_every_s: float) -> TopicEnds:
        """Return the last result of `ends` if it is younger than `look_every_s`, else a new one."""
        at, found = self._last_ends.get(topic, (0.0, None))
        if found is not None and time.monotonic() - at < look_every_s:
            return found
        return self.ends(topic)

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first retained offset of each partition."""
        log = self.of(topic)
        if log is None:
            return self._others.beginning_offsets(topic)
        with _named(topic):
            return log.beginnings()

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        return self.ends(topic).offsets

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset of each partition at or after a timestamp, or else the end."""
        log = self.of(topic)
        if log is None:
            return self._others.offsets_at(topic, timestamp_ms)
        with _named(topic):
            found = {p: (log.first_since(p, timestamp_ms), end) for p, end in log.ends().items()}
        return {p: end if first is None else first[0] for p, (first, end) in found.items()}

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return, by partition, the offset and time of the first record at or after a time."""
        others: list[tuple[str, int]] = []
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for topic, partition in places:
            log = self.of(topic)
            if log is None:
                others.append((topic, partition))
            elif (first := log.first_since(partition, timestamp_ms)) is not None:
                found[topic, partition] = first
        if others:
            found |= self._others.first_since(others, timestamp_ms)
        return found

    def claim(self, reader: str) -> None:
        """Claim the logs that only one query may read, before reading their records.

        Raises:
            SourceError: Another query already reads a log that only one query may read.
        """
        for name in self._logs:
            if (log := self._read_once(name)) is not None:
                with _named(name):
                    log.claim(reader)

    def committed(self, positions: Mapping[TopicPartition, int]) -> None:
        """Pass the positions to logs, which may delete the records before them."""
        by_log: dict[str, dict[int, int]] = {}
        for place, offset in positions.items():
            by_log.setdefault(place.topic, {})[place.partition] = offset
        for name, offsets in by_log.items():
            if (log := self._read_once(name)) is not None:
                with _named(name):
                    log.committed(offsets)

    def retained(self) -> dict[str, RetainedSize]:
        """Return the retained uncommitted data of logs, by name."""
        found: dict[str, RetainedSize] = {}
        for name, opened in self._opened.items():
            log: object = opened
            if isinstance(log, RetainsUncommitted) and (retained := log.retained()) is not None:
                found[name] = retained
        return found

    def _read_once(self, name: str) -> ReadOnce | None:
        log: object = self.of(name)
        return log if isinstance(log, ReadOnce) else None

    def close(self) -> None:
        """Release the resources of logs."""
        while self._opened:
            self._opened.popitem()[1].close()

    def __enter__(self) -> LogPositions:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the opened logs."""
        self.close()


class _named:  # noqa: N801  # reads as a verb
    """A context manager that adds the name of a log to errors raised in its block."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self, _: type[BaseException] | None, exc: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(exc, KStreamsError):
            exc.at(topic=self._name)
