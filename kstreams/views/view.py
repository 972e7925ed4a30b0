"""A store of an app, read from outside at a committed version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any, cast, overload

from kstreams._types import K, V
from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.errors import CheckpointMismatchError
from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.buffer.store import BufferedRecord, BufferStore
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.session.store import SessionStore
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedKeyValueStore, VersionedValue
from kstreams.state.stores.window.store import WindowStore
from kstreams.views.following import Following
from kstreams.views.place import ViewedApp, checkpoint_of
from kstreams.views.reader import Reader, ReaderSettings
from kstreams.views.scan import ViewScan
from kstreams.views.timed_reads import TimedReads
from kstreams.windowed import Windowed

__all__ = ("View",)


_POLL = timedelta(milliseconds=100)


class View(TimedReads[S]):
    """Reads a committed store of a running or stopped app, from any process.

    Each read sees all partitions at one committed batch, never a part of one: the newest,
    unless `as_of` fixes it. An iteration keeps the view at its version until it ends. The
    app is not disturbed: no lock is taken, and nothing is written to the checkpoint.

    A view keeps working copies of the partitions that were read, in this process's memory
    or in RocksDB below the temporary directory. A copy is restored at the first read of its
    partition; after that each commit costs what it changed, and a point read what the
    backend's costs. Threads may share a view.

    Which methods there are follows from the kind of the store: `get`, `has`, `range` and
    `items` for key-value, timestamped, versioned and list stores and buffers, also `history`
    for versioned ones; `get`, `fetch` and `fetch_all` for window and session stores; `fetch`
    and `fetch_all` for sliding stores and for what `every` and `at_most_every` hold back,
    whose definition is the last of the aggregation's `stores`.

    Args:
        source: The app's checkpoint directory, the app's id where that is below `.kstreams`,
            or the app.
        store: The app's own definition of the store.
        log: Where the app keeps its durable log, if not in its checkpoint directory.
        as_of: Stay at an earlier version: the batch of one that is retained
            (`App(retained_batches=...)`), or the name of a savepoint.
        max_age: How old the version of a read may be, before newer ones are looked for.
            By default every read looks.
        backend: Keeps the working copies; by default memory, and RocksDB, if it is
            installed, for state of more than 64 MiB in the log.
        partitioner: The rule by which the app's keys were routed, if it is not Kafka's. Where
            the rule is not known, or store and topics have keys of different serdes, a key
            is looked for in all partitions.
        clock: Tells how old a version is.

    Raises:
        NoCheckpointError: There is no checkpoint at `source`.
        CheckpointMismatchError: It has no such store, or by another definition.
        StoreError: The version is not retained.
        SavepointError: There is no such savepoint.

    Source: `KafkaStreams#store` (interactive queries), for all partitions at once and by a
    consistent version; goka's `View`.
    """

    def __init__(
        self,
        source: str | Path | ViewedApp,
        store: StoreSpec[S],
        *,
        log: ObjectStoreSettings | None = None,
        as_of: int | str | None = None,
        max_age: timedelta = timedelta(0),
        backend: StateBackend | None = None,
        partitioner: Partitioner | None = None,
        clock: Clock | None = None,
    ) -> None:
        if isinstance(source, (str, Path)):
            path = checkpoint_of(source)
        else:
            path, log = source.checkpoint, log or source.log
            partitioner = partitioner or _partitioner(source, store)
        self.spec = store
        self._reader: Reader[S] = Reader(
            store,
            ReaderSettings(
                path,
                log,
                as_of,
                to_ms(max_age),
                backend,
                partitioner,
                clock or SystemClock(),
            ),
        )
        self._key = store.key.ordered.serialize

    # ------------------------------------------------------------ versions

    @property
    def version(self) -> int | None:
        """The committed batch that the view stands at; None before the app's first."""
        return self._reader.version

    @property
    def wall_ms(self) -> int | None:
        """When that batch was committed, ms since the epoch by the app's clock."""
        return self._reader.wall_ms

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, rising."""
        return self._reader.place.batches()

    def refresh(self) -> int | None:
        """Move to the newest version and return it; while an iteration is open, stay."""
        return self._reader.refresh()

    def follow(self, callback: Callable[[int], None], *, poll: timedelta = _POLL) -> Following:
        """Call back with the version now and after each commit, in a thread of its own.

        Commits that come faster than the callback returns are passed over, to the newest.
        Reads inside the callback see that version or a newer one.

        Args:
            callback: Called with the version.
            poll: How often to look.

        Returns:
            What ends it: `close()`, or the end of a `with`; raises what the callback raised.
        """
        return Following(self.refresh, callback, poll)

    def close(self) -> None:
        """Remove the working copies; a second call does nothing."""
        self._reader.close()

    def __enter__(self) -> View[S]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ all kinds of one value a key

    @overload
    def get(self: View[KeyValueStore[K, V]], key: K) -> V | None: ...

    @overload
    def get(self: View[TimestampedStore[K, V]], key: K) -> tuple[V, int] | None: ...

    @overload
    def get(self: View[WindowStore[K, V]], key: Windowed[K]) -> V | None: ...

    @overload
    def get(self: View[SessionStore[K, V]], key: Windowed[K]) -> V | None: ...

    @overload
    def get(
        self: View[VersionedKeyValueStore[K, V]], key: K, as_of_ms: int | None = None
    ) -> VersionedValue[V] | None: ...

    @overload
    def get(self: View[ListStore[K, V]], key: K) -> tuple[V, ...]: ...

    @overload
    def get(self: View[BufferStore[K, V]], key: K) -> BufferedRecord[K, V] | None: ...

    def get(self, key: Any, as_of_ms: int | None = None) -> Any:
        """Return a key's value, or None; windows and sessions have windowed keys.

        A timestamped store's is a pair of value and timestamp (ms); a versioned store's the
        value that held at a time, the latest by default; a list store's its elements; a
        buffer's the record that it keeps.
        """
        times = () if as_of_ms is None else (as_of_ms,)
        lists = self.spec.kind.name == "list"

        def look(stores: Sequence[S]) -> Any:  # noqa: ANN401  # the overloads say it
            for store in stores:
                found = cast("Any", store).get(key, *times)
                if found is not None and not (lists and found == ()):
                    return found
            return () if lists else None

        windowed = isinstance(key, Windowed) and self.spec.key.type_token is not Windowed
        return self._reader.read(self._reader.partitions_of(key.key if windowed else key), look)

    @overload
    def has(self: View[KeyValueStore[K, V]], key: K) -> bool: ...

    @overload
    def has(self: View[TimestampedStore[K, V]], key: K) -> bool: ...

    @overload
    def has(self: View[VersionedKeyValueStore[K, V]], key: K) -> bool: ...

    @overload
    def has(self: View[ListStore[K, V]], key: K) -> bool: ...

    @overload
    def has(self: View[BufferStore[K, V]], key: K) -> bool: ...

    def has(self, key: Any) -> bool:
        """Tell whether a key has a value, or a list any elements."""
        found: Any = cast("View[KeyValueStore[Any, Any]]", self).get(key)
        return found is not None and not (self.spec.kind.name == "list" and found == ())

    @overload
    def range(
        self: View[KeyValueStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[K, V]]: ...

    @overload
    def range(
        self: View[TimestampedStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[K, tuple[V, int]]]: ...

    @overload
    def range(
        self: View[VersionedKeyValueStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[K, VersionedValue[V]]]: ...

    @overload
    def range(
        self: View[ListStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[K, tuple[V, ...]]]: ...

    @overload
    def range(
        self: View[BufferStore[K, V]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[tuple[K, BufferedRecord[K, V]]]: ...

    def range(self, start: Any = None, end: Any = None, *, reverse: bool = False) -> Any:
        """Yield pairs with `start <= key < end` of all partitions, in key order.

        A versioned store's values are the latest versions, a list store's all elements, a
        buffer's records with their places in the order of release.
        """
        return self._merged(
            lambda store: cast("Any", store).range(start, end, reverse=reverse),
            lambda row: self._key(row[0]),
            reverse=reverse,
        )

    @overload
    def items(self: View[KeyValueStore[K, V]]) -> ViewScan[tuple[K, V]]: ...

    @overload
    def items(self: View[TimestampedStore[K, V]]) -> ViewScan[tuple[K, tuple[V, int]]]: ...

    @overload
    def items(
        self: View[VersionedKeyValueStore[K, V]],
    ) -> ViewScan[tuple[K, VersionedValue[V]]]: ...

    @overload
    def items(self: View[ListStore[K, V]]) -> ViewScan[tuple[K, tuple[V, ...]]]: ...

    @overload
    def items(self: View[BufferStore[K, V]]) -> ViewScan[tuple[K, BufferedRecord[K, V]]]: ...

    def items(self) -> Any:
        """Yield all pairs, in key order."""
        return cast("View[KeyValueStore[Any, Any]]", self).range()

    @overload
    def prefix_scan(
        self: View[KeyValueStore[K, V]], prefix: bytes, *, reverse: bool = False
    ) -> ViewScan[tuple[K, V]]: ...

    @overload
    def prefix_scan(
        self: View[TimestampedStore[K, V]], prefix: bytes, *, reverse: bool = False
    ) -> ViewScan[tuple[K, tuple[V, int]]]: ...

    def prefix_scan(self, prefix: bytes, *, reverse: bool = False) -> Any:
        """Yield pairs whose key's bytes start with a prefix, in key order."""
        return self._merged(
            lambda store: cast("Any", store).prefix_scan(prefix, reverse=reverse),
            lambda row: self._key(row[0]),
            reverse=reverse,
        )

    def history(
        self: View[VersionedKeyValueStore[K, V]],
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[VersionedValue[V]]:
        """Yield a key's versions that were valid at some time with `from <= time <= to`.

        By time (ms), or backward; as far as the store's retention reaches back.
        """
        return self._reader.scan(
            self._reader.partitions_of(key),
            lambda stores: chain.from_iterable(
                store.history(key, from_ms, to_ms, reverse=reverse) for store in stores
            ),
        )


def _partitioner(app: ViewedApp, store: StoreSpec[Any]) -> Partitioner | None:
    """Return the rule that routes what enters the store's group."""
    try:
        group = app.topology.group_of_store(store.name)
    except KeyError as exc:
        known = ", ".join(repr(spec.name) for spec in app.topology.stores) or "none"
        raise CheckpointMismatchError(
            f"topology {app.topology.name!r} has no store {store.name!r}: it has {known}"
        ) from exc
    found = [node.topic.partitioner for node in group.sources]
    found += [entry.partitioner for entry in group.entries]
    return found[0]
