"""One task in one batch: its state checked out, its records run, its results written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, cast

import pyarrow as pa

from kstreams.batch.envelope import DRIVER, Envelope
from kstreams.batch.stage_settings import StageSettings
from kstreams.checkpoint.plans import Slice
from kstreams.ids import TaskId, TopicPartition, text_keys
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import CountedObjects
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.local import open_local_home
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.meta import TaskMeta
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from kstreams.task.routing import route
from kstreams.task.task import Task

__all__ = ("TaskRun", "slices_of")

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_ROW_CACHE_BYTES = 64 * 1024 * 1024

_BESIDE = BackgroundUpkeep()
"""Merges deltas and makes snapshots of all tasks of this worker."""


class TaskRun:
    """One task in one batch.

    Args:
        settings: Its stage's.
        task: Its partition.
        batch: Number of the batch.
        revision: Of the batch's plan, if its input is not what it was in the first one.
    """

    def __init__(self, settings: StageSettings, task: int, batch: int, revision: int = 0) -> None:
        self._settings = settings
        self._partition = task
        self._batch = batch
        self._revision = revision
        self._id = TaskId(settings.group.name, task)

    def run(self, envelopes: Sequence[Envelope], queues: Sequence[Queue]) -> Iterator[Envelope]:
        """Run the task, and commit a version of its state; yield edges and status.

        Args:
            envelopes: What is addressed to it.
            queues: What was read for it.
        """
        settings, group = self._settings, self._settings.group
        wall_ms = max(e.header["wall"] for e in envelopes if "wall" in e.header)
        inputs = _joined([*queues, *(e.queue() for e in envelopes if e.kind == "queue")])
        key = settings.task_key(self._id)
        log = CountedObjects(_opened(cast("Hashable", settings.log)))
        home = open_local_home(settings.backend, settings.app, settings.incarnation)
        versions = TaskVersions(
            settings.backend,
            home,
            log,
            key,
            [spec.name for spec in group.stores],
            upkeep=settings.upkeep,
            background=_BESIDE,
        )
        pointer, rows = _pointer(envelopes), _row_cache()
        with versions.checkout(pointer, Attempt(new_attempt(), self._batch)) as checkout:
            overlay = Overlay(checkout.store, rows.take(key, pointer.lineage))
            meta = TaskMeta.from_json(dict(pointer.meta))
            task = Task(
                group,
                self._partition,
                overlay,
                meta,
                wall_ms=wall_ms,
                interceptors=settings.interceptors,
                changelog_ends=settings.changelog_ends(self._partition),
                changelog_ids=settings.changelog_ids(),
                limits=settings.io.limits,
                folder=home,
            )
            try:
                output = task.run(
                    inputs,
                    wall_ms=wall_ms,
                    idle_since_ms=max(e.header.get("since", 0) for e in envelopes),
                    close_windows=any(e.header.get("close") for e in envelopes),
                )
            except KeyboardInterrupt as exc:
                raise task.interrupted(exc) from exc
            task.close()
            changes = overlay.changes()
            output.changelogs = task.changelogs(changes)
            producer = f"{settings.incarnation}/{self._id}"
            staged = settings.io.write(
                output, group, producer=producer, batch=self._batch, revision=self._revision
            )
            committed = checkout.commit(changes, meta.to_json())
        rows.keep(key, committed.lineage, overlay)
        topics = {node.name for node in group.sources}
        status = {
            "task": str(self._id),
            "pointer": committed.to_json(),
            "records": output.records_in,
            "sources": sum(queue.table.num_rows for queue in inputs if queue.entry in topics),
            "sizes": text_keys(_sizes(slices_of(envelopes), queues)),
            "dropped": output.dropped,
            "lines": output.lines,
            "due": output.next_wall_due,
            "outputs": staged,
            "log": log.take().to_json(),
        }
        yield from self._edges(output, wall_ms)
        yield Envelope("status", DRIVER, self._partition, status)

    def _edges(self, output: TaskOutput, wall_ms: int) -> Iterator[Envelope]:
        settings = self._settings
        for edge in settings.group.exits:
            table = output.edges.get(edge.name)
            if table is None:
                continue
            stage = settings.exits[edge.name]
            count = settings.counts[stage]
            for task, queue in route(edge, table, upstream=self._partition, partitions=count):
                for part in _messages(queue):
                    yield Envelope.of_queue(part, stage=stage, task=task, wall_ms=wall_ms)


@cache
def _row_cache() -> RowCache:
    """Return this worker's."""
    return RowCache(_ROW_CACHE_BYTES)


@lru_cache(maxsize=4)
def _opened(log: Any) -> ObjectStore:  # noqa: ANN401  # settings, hashable if frozen
    """Open the durable log of some `ObjectStoreSettings`, once a worker."""
    opened: ObjectStore = log.open()
    return opened


def slices_of(envelopes: Sequence[Envelope]) -> list[Slice]:
    """Return what the calls among messages say that the task reads."""
    return [Slice.from_json(data) for e in envelopes for data in e.header.get("slices", ())]


def _sizes(
    slices: Sequence[Slice], queues: Sequence[Queue]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return how many offsets of each partition were read, and the bytes there."""
    sizes: dict[TopicPartition, tuple[int, int]] = {}
    for each, queue in zip(slices, queues, strict=True):
        place = each.topic_partition
        offsets, size = sizes.get(place, (0, 0))
        sizes[place] = offsets + len(each), size + queue.table.nbytes
    return sizes


def _pointer(envelopes: Sequence[Envelope]) -> Pointer:
    """Return what was committed of the task last."""
    texts = [e.header["pointer"] for e in envelopes if e.kind == "state"]
    return Pointer.from_json(texts[0]) if texts else Pointer.empty()


def _messages(queue: Queue) -> Iterator[Queue]:
    """Cut a queue so that no message outgrows what a row of Spark's can hold."""
    table = queue.table
    count = max(1, -(-table.nbytes // _MAX_MESSAGE_BYTES))
    rows = -(-table.num_rows // count)
    for start in range(0, table.num_rows, rows):
        yield queue.with_table(table.slice(start, rows))


def _joined(queues: Sequence[Queue]) -> list[Queue]:
    """Return one queue a source partition or upstream task, its pieces in offset order."""
    parts: dict[tuple[str, str, int], list[Queue]] = {}
    for queue in queues:
        parts.setdefault((queue.entry, queue.topic, queue.partition), []).append(queue)
    return [pieces[0] if len(pieces) == 1 else _in_order(pieces) for pieces in parts.values()]


def _in_order(pieces: Sequence[Queue]) -> Queue:
    tables = sorted(
        (piece.table for piece in pieces if piece.table.num_rows),
        key=lambda table: table.column("offset")[0].as_py(),
    )
    return pieces[0].with_table(pa.concat_tables(tables)) if tables else pieces[0]
