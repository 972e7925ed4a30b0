"""A topic as a table, read from any process."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Generic, Literal

from kstreams._types import K, V
from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.connection import Connection
from kstreams.options import checks_options
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.topic import Topic
from kstreams.views.commit_callbacks import Following
from kstreams.views.versioned_reads import VersionedReads
from kstreams_topic_view.topic_reader import TopicReader
from kstreams_topic_view.topic_settings import PartitionProgress, TopicSettings

__all__ = ("TopicView",)


class TopicView(VersionedReads[KeyValueStore[K, V]], Generic[K, V]):
    """Reads any topic as a table: the last value of each key. A tombstone deletes its key.

    For compacted topics: changelogs of apps, tables of other systems. The view has the methods of a
    `View` of a key-value store. By default each read first reads the topic to its end, so that it
    sees all earlier writes; the first read reads the whole topic.

    `version` is the number of offsets that were read, of all partitions together. An open iteration
    keeps the view at its version. Threads may share a view.

    Memory holds the last value of each key and a few thousand records of the topic; with
    `backend=RocksDB()` the values are on disk. With a `directory`, a closed view continues from its
    copy when it is opened again. After a kill, or if the copy does not match the topic any more,
    the view reads the topic from its beginning.

    Args:
        topic: The topic with its serdes. A key is searched in the partition that its `partitioner`
            chooses, or in all partitions if the first keys are in other partitions.
        connection: The connection of the topic.
        max_age: The maximum age of the known end of the topic before a read requests it again.
        advance_every: The interval at which a background thread reads the topic, so that only the
            first read waits for the topic. None starts no thread.
        backend: The backend of the working copies; memory by default.
        directory: The directory of copies that are kept for the next process; only one view at a
            time can use it. None removes the copies at `close`.
        valid_for: The time after its `close` for which a kept copy is valid. At most the topic's
            `delete.retention.ms`: the topic no longer has older tombstones.
        on_error: The policy for a record that cannot be decoded: `"fail"` raises from the reads,
            `"skip"` counts the record in `progress`. Records without a key are counted in either
            case.
        clock: The clock for the age of a copy.

    Raises:
        UnknownTopicError: The topic does not exist.
        StoreOpenError: Another view uses the directory, or the directory cannot be used.
        ValueError: `on_error` has another value.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from kstreams import INT64, TEXT, Embedded, Emitter, Topic
        >>> stock = Topic("stock", key=TEXT, value=INT64, nulls="pass")
        >>> with TemporaryDirectory() as place, Emitter(stock, Embedded(place)) as emitter:
        ...     _ = emitter.emit_many([("pen", 3), ("ink", 5), ("pen", 2), ("ink", None)])
        ...     with TopicView(stock, Embedded(place)) as view:
        ...         list(view.items())
        [('pen', 2)]

    Source: goka's `NewView`; `StreamsBuilder#globalTable`, without a topology.
    """

    @checks_options
    def __init__(
        self,
        topic: Topic[K, V],
        connection: Connection,
        *,
        max_age: timedelta = timedelta(0),
        advance_every: timedelta | None = None,
        backend: StateBackend | None = None,
        directory: Path | str | None = None,
        valid_for: timedelta = timedelta(hours=24),
        on_error: Literal["fail", "skip"] = "fail",
        clock: Clock | None = None,
    ) -> None:
        if on_error not in ("fail", "skip"):
            raise ValueError(f"on_error is {on_error!r}; expected 'fail' or 'skip'")
        settings = TopicSettings(
            to_ms(max_age),
            backend or Memory(),
            None if directory is None else Path(directory),
            to_ms(valid_for),
            on_error,
            clock or SystemClock(),
            in_background=advance_every is not None,
        )
        self._reading = TopicReader(topic, connection, settings)
        super().__init__(self._reading.spec, self._reading)
        self._advancing: Following | None = None
        if advance_every is not None:
            self._advancing = Following(self._reading.advance, _nothing, advance_every)

    def progress(self) -> dict[int, PartitionProgress]:
        """Return the progress of the view in each partition, at the last read of the topic."""
        return self._reading.progress()

    def close(self) -> None:
        """Remove the working copies, or keep them in the directory; may be repeated."""
        self._reading.end()
        if self._advancing is not None:
            self._advancing.close()
        super().close()


def _nothing(_: int) -> None:
    """Do nothing at a new version, because reads see it anyway."""
