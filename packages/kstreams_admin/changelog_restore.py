"""Rebuild stores of a stopped app from their changelog topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.log_headers import begin_log
from kstreams.checkpoint.new_epochs import copy_store, epochs_after, next_epoch_number, rewritten
from kstreams.checkpoint.parameter_notes import misread_by, recorded_parameters
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.takeover import take_over
from kstreams.connection import Connection, RawRecord, TopicReader
from kstreams.errors import (
    CheckpointMismatchError,
    ExecutionError,
    SerdeError,
    StateCorruptError,
    TopicRecreatedError,
)
from kstreams.graph.topology import Topology
from kstreams.ids import TaskId
from kstreams.raw_batch import ID_HEADER
from kstreams.scratch import scratch_directory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.changelog_form import ChangelogRecord
from kstreams.state.stores.spec import StoreSpec

__all__ = ("ChangelogRestore", "Rebuilt")

_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Rebuilt:
    """The progress of rebuilding a store in one task.

    Attributes:
        store: The name of the store.
        partition: The partition of the task.
        records: The number of changelog records that were read so far.
        done: Whether all records were read.
    """

    store: str
    partition: int
    records: int
    done: bool


@dataclass(frozen=True)
class ChangelogRestore:
    """Rebuilds stores from their changelogs, up to the last committed batch.

    The queries of the stores start a new epoch with the offsets, times and other stores of their
    last commit. The checkpoint does not change before the last step, which is one rename. The old
    content of a store is not read, so it may be damaged. If all stores of a group are rebuilt, no
    object of the group is read. The caller must hold the app's lock, and must have published the
    output of the last commits.

    Attributes:
        checkpoint: The checkpoint of the app.
        topology: The topology with the definitions of the stores.
        connection: The connection of the changelogs.
        backend: The backend of the working copies.
        objects: The durable log of the app.
        run: The id of this run.
        publish: Publishes the remaining output of a query's last commit; called before the query
            is taken over from an older driver.
    """

    checkpoint: Checkpoint
    topology: Topology
    connection: Connection
    backend: StateBackend
    objects: ObjectStore
    run: str
    publish: Callable[[Commit], None] = lambda _: None

    def stores(self, names: Collection[str] = ()) -> tuple[StoreSpec[Any], ...]:
        """Return the definitions of the named stores, or of all stores that have a changelog.

        Raises:
            CheckpointMismatchError: A named store does not exist, has another definition in the
                checkpoint, or has no changelog.
        """
        known = {spec.name: spec for spec in self.topology.stores}
        stored = self.checkpoint.stores()
        wanted = names or sorted(name for name, spec in known.items() if spec.changelog)
        for name in wanted:
            if name not in known or name not in stored or known[name].changelog is None:
                listed = ", ".join(repr(s.name) for s in known.values() if s.changelog) or "none"
                raise CheckpointMismatchError(
                    f"app {self.checkpoint.app!r} has no store {name!r} with a changelog; "
                    f"stores with a changelog: {listed}",
                    hint="define the store with .with_changelog(topic), and run the app first.",
                )
            if dict(stored[name][1]) != known[name].schema():
                raise CheckpointMismatchError(
                    f"store {name!r} is {dict(stored[name][1])} in the checkpoint, but "
                    f"{known[name].schema()} in topology {self.topology.name!r}",
                    hint="name the topology that the app ran last.",
                )
            recorded, shape = self.checkpoint.shape, self.topology.shape()
            if misread := misread_by(*(recorded_parameters(s, name) for s in (recorded, shape))):
                raise CheckpointMismatchError(
                    f"the topology would misread store {name!r}: {misread}",
                    hint="name the topology that the app ran last.",
                )
        if not wanted:
            raise CheckpointMismatchError(
                f"no store of topology {self.topology.name!r} has a changelog",
                hint="define the store with .with_changelog(topic), and run the app first.",
            )
        return tuple(known[name] for name in wanted)

    def run_all(
        self, stores: Sequence[StoreSpec[Any]], progress: Callable[[Rebuilt], None]
    ) -> Checkpoint:
        """Rebuild stores and activate them; return the new checkpoint.

        Args:
            stores: The result of `stores`.
            progress: Called after every few thousand records, and at the end of each task.

        Raises:
            ExecutionError: A changelog is incomplete, or the app has no commit.
            StateCorruptError: Another store of the group cannot be read.
        """
        groups: dict[str, list[StoreSpec[Any]]] = {}
        for spec in stores:
            groups.setdefault(self.checkpoint.stores()[spec.name][0], []).append(spec)
        queries = dict.fromkeys(self.checkpoint.query_of_group(group) for group in groups)
        if self.checkpoint.home.takes_over:
            for query in queries:
                take_over(
                    self.checkpoint,
                    query,
                    self.objects,
                    run=self.run,
                    publish=self.publish,
                    give_up=True,
                )
        numbers = {q: next_epoch_number(self.checkpoint, q, self.objects) for q in queries}
        lasts = {query: self._last(query) for query in queries}
        made = replace(
            self.checkpoint,
            epoch_numbers={**self.checkpoint.epoch_numbers, **numbers},
            ended=epochs_after(self.checkpoint, {q: last.batch for q, last in lasts.items()}),
            begun={q: d for q, d in self.checkpoint.begun.items() if q not in queries},
        )
        begun: dict[str, str] = {}
        with closing(self.connection.reader()) as reader:
            for query in queries:
                seed = self._seed(made, query, lasts[query], groups, reader, progress)
                begun[query] = begin_log(made, query, self.objects, seed)
        return replace(made, begun={**made.begun, **begun}).save()

    def _last(self, query: str) -> Commit:
        last = self.checkpoint.commits(query, self.objects).last()
        if last is None:
            raise ExecutionError(
                f"query {query!r} of app {self.checkpoint.app!r} has committed nothing",
                hint="a restored store needs the offsets of a commit: run the app from the start.",
            )
        return last

    def _seed(
        self,
        made: Checkpoint,
        query: str,
        last: Commit,
        groups: Mapping[str, Sequence[StoreSpec[Any]]],
        reader: TopicReader,
        progress: Callable[[Rebuilt], None],
    ) -> Commit:
        tasks = dict(last.tasks)
        for task, pointer in last.pointers().items():
            if task.group in groups:
                epochs = made.ended[task.group]
                work = _Task(self, query, task, pointer, epochs)
                tasks[task] = work.rebuilt(groups[task.group], reader, progress).to_json()
        return Commit(
            SEED,
            self.run,
            last.wall_ms,
            tasks,
            positions=positions_after(last),
            fingerprint=last.fingerprint,
            topics=last.topics,
            loops=last.loops,
            totals=last.totals,
        )


@dataclass(frozen=True)
class _Task:
    """Rebuilds the stores of one task from their changelogs."""

    job: ChangelogRestore
    query: str
    id: TaskId
    pointer: Pointer
    epochs: Mapping[str, int]

    def rebuilt(
        self,
        stores: Sequence[StoreSpec[Any]],
        reader: TopicReader,
        progress: Callable[[Rebuilt], None],
    ) -> Pointer:
        """Rebuild stores of the task; return the pointer to the new state."""
        starts = {spec.name: self._start(spec) for spec in stores}
        log = DurableLog(self.job.objects, self.job.checkpoint.task_key(self.query, self.id))
        names = tuple(sorted({*self.pointer.stores, *starts}))
        backend = self.job.backend
        with scratch_directory() as home:
            try:
                with closing(backend.open(home / "new", names)) as target:
                    self._copy_others(log, target, home / "old", set(starts))
                    for spec in stores:
                        start = starts[spec.name]
                        if start is not None:
                            self._fill(spec, target, reader, start, progress)
                    return rewritten(log, self.pointer, target, names)
            finally:
                for part in ("old", "new"):
                    backend.remove(home / part)

    def _start(self, spec: StoreSpec[Any]) -> int | None:
        """Return the changelog offset from which to rebuild a store; None if it has no rows."""
        topic, start = self.pointer.meta.get("logs", {}).get(spec.name, (None, 0))
        if topic == spec.changelog:
            self._check_id(spec)
            return int(start)
        if spec.name not in self.pointer.stores:
            return None
        raise ExecutionError(
            f"changelog {spec.changelog!r} does not have all rows of store {spec.name!r}: "
            f"partition {self.id.partition} was not written completely",
            hint="a task writes all rows with its first batch after the changelog is added; "
            "nothing was changed.",
        ).at(store=spec.name, partition=self.id.partition)

    def _check_id(self, spec: StoreSpec[Any]) -> None:
        """Raise `TopicRecreatedError` if the changelog was recreated since the last commit."""
        expected = self.pointer.meta.get("log_ids", {}).get(spec.name, "")
        with closing(self.job.connection.admin()) as admin:
            found = admin.ends(str(spec.changelog)).topic_id
        if expected and found and expected != found:
            raise TopicRecreatedError(
                f"changelog {spec.changelog!r} of store {spec.name!r} was deleted and created "
                f"again: its id was {expected}, and is {found}. Partition {self.id.partition} has "
                "not been written completely since",
                expected=expected,
                found=found,
                hint="a task writes all rows with its first batch after the app's next start, if "
                "its state still exists; nothing was changed.",
            ).at(store=spec.name, partition=self.id.partition)

    def _copy_others(
        self, log: DurableLog, target: WorkingStore, home: Path, rebuilt: Collection[str]
    ) -> None:
        others = [name for name in self.pointer.stores if name not in rebuilt]
        if not others:
            return
        with closing(self.job.backend.open(home, self.pointer.stores)) as source:
            try:
                log.restore(self.pointer, source)
            except StateCorruptError as exc:
                listed = ", ".join(map(repr, others))
                exc.hint = f"stores {listed} of the same task have to be rebuilt too, or reset."
                raise
            for name in others:
                copy_store(source, target, name)

    def _fill(
        self,
        spec: StoreSpec[Any],
        target: WorkingStore,
        reader: TopicReader,
        start: int,
        progress: Callable[[Rebuilt], None],
    ) -> None:
        overlay = Overlay(target)
        restore = spec.changelog_form().restoring(overlay)
        count = 0
        for record in self._records(str(spec.changelog), reader, start):
            try:
                restore(ChangelogRecord(record.key or b"", record.value, record.timestamp))
            except SerdeError as exc:
                place = {"partition": record.partition, "offset": record.offset}
                exc.at(store=spec.name, topic=record.topic, **place)
                raise
            count += 1
            if count % _ROWS_AT_ONCE == 0:
                target.write(overlay.changes())
                overlay.forget()
                progress(Rebuilt(spec.name, self.id.partition, count, done=False))
        target.write(overlay.changes())
        progress(Rebuilt(spec.name, self.id.partition, count, done=True))

    def _records(self, topic: str, reader: TopicReader, start: int) -> Iterator[RawRecord]:
        with closing(self.job.connection.admin()) as admin:
            end = admin.end_offsets(topic)[self.id.partition]
        for record in reader.read(topic, self.id.partition, start, end):
            if not _is_beyond(record, self.epochs):
                yield record


def _is_beyond(record: RawRecord, epochs: Mapping[str, int]) -> bool:
    """Return whether an uncommitted batch wrote a record; Kafka returns such records, too.

    Args:
        record: A record of a changelog, whose id header has an epoch and a batch.
        epochs: The last committed batch, by epoch.
    """
    for name, value in record.headers:
        if name == ID_HEADER and value is not None:
            own, *_, number, _ = value.decode().split("/")
            return own in epochs and int(number.partition(".")[0]) > epochs[own]
    return False
