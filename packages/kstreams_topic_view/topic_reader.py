"""Working copies of a topic's partitions, which are updated to the end of the topic."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from kstreams._types import K, V
from kstreams.clock import SystemClock, steady_ms
from kstreams.connection import Connection, TopicEnds
from kstreams.errors import StoreError, Where
from kstreams.serde.framed import prepare
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.topic import Topic
from kstreams.views.layered_copy import WorkingCopy
from kstreams.views.pinned import Pinned
from kstreams.views.scan import ViewScan
from kstreams_topic_view.topic_copy import TopicCopy
from kstreams_topic_view.topic_home import SavedTopic, TopicHome
from kstreams_topic_view.topic_settings import PartitionProgress, TopicSettings

__all__ = ("TopicReader",)

T = TypeVar("T")
"""The result type of a read."""

_CHUNK = 5_000
_MACHINE = SystemClock()


class _Looked(tuple[int, ...]):
    """The partitions of a key, for which the copies were just updated: reads skip the update."""

    __slots__ = ()


@dataclass(frozen=True)
class _LockedReads:
    """The lock and the partitions of the reader, for reads of a `Pinned` version."""

    lock: AbstractContextManager[bool]
    epoch: str
    partitions: int
    find: Callable[[object], Sequence[int]]

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return the partitions that may have a key."""
        return self.find(key)


class TopicReader(Generic[K, V]):
    """Reads a topic into working copies. Implements `MovingReader`.

    Args:
        topic: The topic.
        connection: The connection of the topic.
        settings: The settings of the view.

    Raises:
        UnknownTopicError: The topic does not exist.
        StoreOpenError: Another view uses the directory.
    """

    def __init__(self, topic: Topic[K, V], connection: Connection, settings: TopicSettings) -> None:
        prepare(topic.key, topic.value, writes=False)
        self.spec = key_value_store(topic.name, key=topic.key, value=topic.value)
        self._topic = topic
        self._settings = settings
        self._moving = threading.Lock()  # taken before `lock`, never inside it
        self.lock = threading.RLock()
        self._scans = 0
        self._closed = False
        self._ending = threading.Event()
        self._reached: set[int] = set()
        self._epoch_number = 0
        self._looked_ms: int | None = None
        self._failure: Exception | None = None
        self._copies: dict[int, TopicCopy[K, V]] = {}
        self.wall_ms: int | None = None
        self._admin, self._reader = connection.admin(), connection.reader()
        try:
            self._ends = self._admin.ends(topic.name)
            self._home = TopicHome(topic.name, settings.backend, settings.directory)
            try:
                self._open()
            except BaseException:
                self._drop()
                self._home.close()
                raise
        except BaseException:
            self._disconnect()
            raise

    # ------------------------------------------------------------ calls of the view

    @property
    def epoch(self) -> str:
        """An id of the topic and its copies, which changes when the copies are built again."""
        return f"{self._ends.topic_id}/{self._epoch_number}"

    @property
    def partitions(self) -> int:
        """The current number of partitions of the topic."""
        self._look()
        return len(self._copies)

    @property
    def version(self) -> int | None:
        """The total number of offsets that were read."""
        with self.lock:
            return sum(copy.position for copy in self._copies.values())

    def versions(self) -> list[int]:
        """Return only the current version, because no other version is kept."""
        return [self.version or 0]

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return the partitions that may have a key: all if keys are in unexpected partitions."""
        self._look()
        with self.lock:
            count = len(self._copies)
            if any(copy.misplaced for copy in self._copies.values()):
                return _Looked(range(count))
        data = self._topic.framed(self._topic.key.serialize(key), None, ())[0]
        return _Looked((self._topic.partitioner.partition(data or b"", count),))

    def progress(self) -> dict[int, PartitionProgress]:
        """Return the progress of each partition, by partition number."""
        with self.lock:
            ends = self._ends.offsets
            return {
                number: PartitionProgress(copy.position, ends.get(number, 0), copy.skipped)
                for number, copy in self._copies.items()
            }

    def recovered(self) -> bool:
        """Return whether each partition was once read to the end that it had at that time."""
        self._check_open()
        return len(self._reached) == len(self._copies)

    def recover(self, until_ms: int | None) -> bool:
        """Read to the end of the topic, or stop at the time; return the result of `recovered`."""
        self._move(until_ms)
        return self.recovered()

    def refresh(self) -> int | None:
        """Read to the end of the topic, unless an iteration is open; return the version."""
        self._move(None)
        return self.version

    def advance(self) -> int | None:
        """Call `refresh` in the background thread; the next read raises its error."""
        try:
            self.refresh()
            self._failure = None
        except Exception as exc:  # noqa: BLE001  # raised by the next read
            if not self._closed:
                self._failure = exc
        return self.version

    def read(
        self, partitions: Sequence[int], look: Callable[[Sequence[KeyValueStore[K, V]]], T]
    ) -> T:
        """Call a function with the live stores of partitions; see `VersionReader`."""
        if not isinstance(partitions, _Looked):
            self._look()
        with self.lock:
            return look(self._live(partitions))

    def scan(
        self,
        partitions: Sequence[int],
        begin: Callable[[Sequence[KeyValueStore[K, V]]], Iterator[T]],
    ) -> ViewScan[T]:
        """Start an iteration; the view stays at its version until the iteration ends.

        Args:
            partitions: The partitions.
            begin: Called with the live stores of the partitions; returns the iterator.
        """
        if not isinstance(partitions, _Looked):
            self._look()
        with self.lock:
            rows = begin(self._live(partitions))
            self._scans += 1
            return ViewScan(rows, self.lock, self._scan_ended)

    def hold(self) -> Pinned[KeyValueStore[K, V]]:
        """Return the current version; it stays readable while it is referenced."""
        self._look()
        with self.lock:
            self._check_open()
            states = {number: copy.state for number, copy in self._copies.items()}
            held = _LockedReads(self.lock, self.epoch, len(states), self.partitions_of)
            return Pinned(held, self.version, self.wall_ms, states, self.spec.name)

    def evict(
        self, partitions: Sequence[int], remove: Callable[[KeyValueStore[K, V]], object]
    ) -> None:
        """Remove rows from the working copies until a record writes their keys again."""
        with self._moving:
            for number in partitions:
                with self.lock:
                    self._check_open()
                    copy = self._copies[number]
                    changes = copy.state.without(remove)
                    if changes:
                        copy.remove(copy.state, changes)
                copy.fold(self.lock)

    def end(self) -> None:
        """Stop the background thread after it has applied its current records."""
        self._ending.set()

    def close(self) -> None:
        """Save the copies, or remove them; a second call does nothing."""
        self.end()
        with self._moving, self.lock:
            if self._closed:
                return
            self._closed = True
            try:
                if self._home.stays:
                    self._save()
                else:
                    self._drop()
            finally:
                self._disconnect()
                self._home.close()

    def _live(self, partitions: Sequence[int]) -> list[KeyValueStore[K, V]]:
        self._check_open()
        if not all(number in self._copies for number in partitions):
            raise StoreError(
                f"topic {self._topic.name!r} was recreated with another partition count",
                hint="read again.",
                where=Where(topic=self._topic.name),
            )
        return [self._copies[number].state.live() for number in partitions]

    # ------------------------------------------------------------ position

    def _look(self) -> None:
        """Read the topic to its end, unless this was done at most `max_age` ago.

        With a background thread, only calls before the end of the recovery read the topic.
        """
        self._check_open()
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        if self._settings.in_background and self.recovered():
            return
        age = None if self._looked_ms is None else steady_ms(_MACHINE) - self._looked_ms
        if age is None or age >= self._settings.max_age_ms or not self.recovered():
            self._move(None)
        if self._ending.is_set():
            raise self._is_closed()

    def _move(self, until_ms: int | None) -> None:
        with self._moving:
            self._check_open()
            if self._scans:
                return
            looked_ms = steady_ms(_MACHINE)
            self._find_ends()
            for number, end in self._ends.offsets.items():
                if not self._catch_up(number, end, until_ms):
                    return
            self._looked_ms = looked_ms
            self.wall_ms = self._settings.clock.now_ms()

    def _find_ends(self) -> None:
        """Request the end offsets; rebuild the copies if the topic was recreated or truncated."""
        before, found = self._ends, self._admin.ends(self._topic.name)
        self._ends = found
        same = found.topic_id == before.topic_id and len(found.offsets) == len(self._copies)
        if not same or any(c.position > found.offsets[n] for n, c in self._copies.items()):
            with self.lock:
                self._drop()
                self._begin()

    def _catch_up(self, number: int, end: int, until_ms: int | None) -> bool:
        """Read a partition to an end offset; return False if the time limit came first."""
        copy = self._copies[number]
        if copy.position < end:
            records = self._reader.read(self._topic.name, number, copy.position, end)
            while chunk := list(islice(records, _CHUNK)):
                try:
                    with self.lock:  # states and positions change in one step
                        copy.apply(chunk, len(self._copies))
                finally:
                    copy.fold(self.lock)
                late = until_ms is not None and steady_ms(_MACHINE) >= until_ms
                if (late or self._ending.is_set()) and copy.position < end:
                    return False
            with self.lock:
                copy.position = end  # offsets without a record were passed over
        self._reached.add(number)
        return True

    # ------------------------------------------------------------ the copies

    def _open(self) -> None:
        """Continue with saved copies if they belong to this topic; else start with empty copies."""
        saved = self._home.saved() if self._home.stays else None
        if saved is None or not self._continues(saved, self._ends):
            self._begin()
            return
        for number in sorted(saved.positions):
            copy = self._home.open(number, saved.mark)
            if copy is None:  # not of this save: kept in a process that is gone
                self._drop()
                self._begin()
                return
            self._copies[number] = self._copy(copy, saved.positions[number])

    def _continues(self, saved: SavedTopic, ends: TopicEnds) -> bool:
        age_ms = self._settings.clock.now_ms() - saved.saved_ms
        if (
            saved.topic_id != ends.topic_id
            or saved.schema != self.spec.schema()
            or set(saved.positions) != set(ends.offsets)
            or not 0 <= age_ms <= self._settings.valid_for_ms
        ):
            return False
        begins = self._admin.beginning_offsets(self._topic.name)
        return all(
            begins.get(number, 0) <= offset <= ends.offsets[number]
            for number, offset in saved.positions.items()
        )

    def _begin(self) -> None:
        self._epoch_number += 1
        self._reached.clear()
        for number in sorted(self._ends.offsets):
            copy = self._home.open(number, None)
            if copy is not None:
                self._copies[number] = self._copy(copy, 0)

    def _copy(self, copy: WorkingCopy, position: int) -> TopicCopy[K, V]:
        skips = self._settings.on_error == "skip"
        return TopicCopy(self._topic, self.spec, copy, position=position, skips=skips)

    def _save(self) -> None:
        mark = new_attempt()
        for copy in self._copies.values():
            self._home.mark(copy.working, mark)
            copy.save()
        positions = {number: copy.position for number, copy in self._copies.items()}
        now_ms = self._settings.clock.now_ms()
        self._home.save(
            SavedTopic(self._ends.topic_id, self.spec.schema(), now_ms, positions, mark)
        )

    def _drop(self) -> None:
        copies, self._copies = self._copies, {}
        for copy in copies.values():
            copy.close()

    def _scan_ended(self) -> None:
        self._scans -= 1

    def _disconnect(self) -> None:
        self._reader.close()
        self._admin.close()

    def _check_open(self) -> None:
        if self._closed:
            raise self._is_closed()

    def _is_closed(self) -> StoreError:
        topic = self._topic.name
        return StoreError(f"the view of topic {topic!r} is closed", where=Where(topic=topic))
