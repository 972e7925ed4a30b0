"""The records that a batch adds to the changelogs of a task's stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from kstreams.errors import RecordRefusedError, SerdeError, Where
from kstreams.raw_batch import HEADERS_TYPE, OUTPUT_SCHEMA
from kstreams.state.backend.key_ranges import covers
from kstreams.state.backend.working import Changes, Pair, StoreChanges
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogRecord
from kstreams.state.stores.spec import StoreSpec
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.records.columns import rows_of
from kstreams.topic_limits import NO_LIMITS, Limits, TopicLimits, limits_or_none

__all__ = ("Changelogs",)


class Changelogs:
    """Converts changes of stores to records of their changelogs.

    A store is written completely if its changelog topic may lack rows. This is so if the metadata
    of the task names no changelog topic for the store, or a topic with another name or topic id.
    The metadata is then updated, and becomes valid with the batch.

    Args:
        stores: The stores of the task.
        overlay: The overlay of the attempt, for earlier values.
        meta: The metadata of the task; changed in place.
        ends: By store, the end of the task's partition of the topic before the attempt; 0 if
            unknown.
        ids: By store, the current topic id; empty if topics have no ids.
        limits: Returns the limits of a topic, such as the maximum size of a record.
    """

    def __init__(
        self,
        stores: Sequence[StoreSpec[Any]],
        overlay: Overlay,
        meta: TaskMeta,
        ends: Mapping[str, int],
        *,
        ids: Mapping[str, str] = MappingProxyType({}),
        limits: Limits = lambda _: NO_LIMITS,
    ) -> None:
        self._stores = [spec for spec in stores if spec.changelog is not None]
        self._forms = {spec.name: spec.changelog_form() for spec in self._stores}
        self._overlay = overlay
        self._meta = meta
        self._ends = ends
        self._ids = ids
        self._limits = limits

    def tables(self, changes: Changes, wall_ms: int) -> dict[str, pa.Table]:
        """Return the records by store, as tables of `OUTPUT_SCHEMA`; only those with rows.

        Args:
            changes: The changes of the batch in all stores.
            wall_ms: The wall time of the batch, ms since the epoch; records have it as long as
                there is no stream time.

        Raises:
            SerdeError: The serdes of a store cannot write a row. The error names the store.
            RecordRefusedError: The topic rejects a row. The error names store and key.
        """
        before, ids = self._meta.changelogs, self._meta.changelog_ids
        self._meta.changelogs, self._meta.changelog_ids = {}, {}
        now = wall_ms if self._meta.stream_time < 0 else self._meta.stream_time
        found: dict[str, pa.Table] = {}
        for spec in self._stores:
            topic, name = str(spec.changelog), spec.name
            known = before.get(name, ("", 0))
            present = self._ids.get(name, "")
            before_id = ids.get(name, present) if known[0] == topic else present
            whole = known[0] != topic or bool(present and before_id != present)
            self._meta.changelogs[name] = (topic, self._ends.get(name, 0)) if whole else known
            if present or before_id:
                self._meta.changelog_ids[name] = present or before_id
            limits = limits_or_none(self._limits, topic)
            low, high = limits.times(wall_ms)
            time_ms = min(max(now, low), high)  # says when, and is no part of the store
            entries = self._entries(name, changes.get(name, StoreChanges()), time_ms, whole=whole)
            if entries:
                found[name] = _taken(_table(topic, entries), name, limits, wall_ms)
        return found

    def _entries(
        self, store: str, changes: StoreChanges, time_ms: int, *, whole: bool
    ) -> list[ChangelogRecord]:
        form, overlay = self._forms[store], self._overlay
        try:
            if not whole:
                before = partial(overlay.stored, store)
                return list(form.records(self._singly(store, changes), before, time_ms))
            stored = overlay.all_stored(store)
            rows: dict[bytes, bytes | None] = {
                key: value for key, value in stored if not covers(changes.ranges, key)
            }
            rows.update(changes.pairs)
            pairs = [pair for pair in sorted(rows.items()) if pair[1] is not None]
            return list(form.records(pairs, lambda keys: [None] * len(keys), time_ms))
        except SerdeError as exc:
            exc.at(store=store)
            raise

    def _singly(self, store: str, changes: StoreChanges) -> Sequence[Pair]:
        """Return changes with a deletion for each key of a deleted range: topics have no ranges."""
        if not changes.ranges:
            return changes.pairs
        rows = dict.fromkeys(self._overlay.stored_in(store, changes.ranges))
        return sorted({**rows, **dict(changes.pairs)}.items())


def _taken(table: pa.Table, store: str, limits: TopicLimits, wall_ms: int) -> pa.Table:
    """Return the table; raises `RecordRefusedError` for the first row that its topic rejects."""
    refused = limits.refused(table, wall_ms)
    if refused is None:
        return table
    first = table.filter(pa.array(refused)).slice(0, 1)
    topic, (row,) = first.column("topic")[0].as_py(), rows_of(first)
    try:
        limits.check(row, wall_ms)
    except RecordRefusedError as exc:
        raise RecordRefusedError(
            f"changelog {topic!r} rejects a row of store {store!r}: {exc.message}",
            exc.code,
            hint=f"{exc.hint} Then restart the app: nothing of this batch was kept.",
            where=Where(store=store, target=topic, key=row.key),
        ) from None
    return table


def _table(topic: str, entries: Sequence[ChangelogRecord]) -> pa.Table:
    keys, values, times = zip(*entries, strict=True)
    columns = [
        pa.repeat(topic, len(entries)),
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.array(times, pa.int64()),
        pa.nulls(len(entries), HEADERS_TYPE),
    ]
    return pa.Table.from_arrays(columns, schema=OUTPUT_SCHEMA)
