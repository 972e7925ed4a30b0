"""Atomic upgrades of a checkpoint to a changed topology."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kstreams.checkpoint.checkpoint import Checkpoint, queries_of
from kstreams.checkpoint.log_headers import begin_log
from kstreams.checkpoint.new_epochs import (
    copy_store,
    epochs_after,
    first_epoch_number,
    next_epoch_number,
    rewritten,
    with_changelogs_of,
)
from kstreams.checkpoint.parameter_notes import recorded_parameters
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.changes import StoreChange, UpgradePlan, plan_upgrade
from kstreams.checkpoint.start.divided_loops import divided_loops
from kstreams.checkpoint.start.loops_under_way import loop_problems, loops_of
from kstreams.checkpoint.start.migration import migrate_store
from kstreams.checkpoint.start.rescaling import Rescaling, TopicSpan, lowest_positions
from kstreams.checkpoint.start.waiting_records import waiting_records
from kstreams.checkpoint.start.window_moves import windows_of_store
from kstreams.checkpoint.takeover import take_over
from kstreams.checkpoint.totals import carried_totals
from kstreams.errors import CheckpointMismatchError
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TaskId, TopicPartition
from kstreams.scratch import scratch_directory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.pointer import Pointer

__all__ = ("RUN_COMMAND", "Upgrade", "last_commits", "upgrade", "upgrade_plan")

_LOG = logging.getLogger(__name__)

RUN_COMMAND = "kstreams run MODULE:NAME"
"""The command in error messages, which the command line replaces by the called command."""


@dataclass(frozen=True)
class Upgrade:
    """The input of an upgrade, apart from the checkpoint.

    Attributes:
        settings: The settings of the app.
        topology: The new topology.
        tasks: The number of the new topology's tasks, by group.
        objects: The durable log.
        run: The id of the driver.
        records: Returns the number of records of a topic; None if it is not known.
        publish: Publishes unpublished output of a commit when a query is taken over.
        uneven: Inputs and stores with fewer partitions than their group has tasks.
        span: Returns the offsets that a topic has, for a division of state; None if not known.
    """

    settings: AppSettings
    topology: Topology
    tasks: Mapping[str, int]
    objects: ObjectStore
    run: str
    records: Callable[[str], int] | None = None
    publish: Callable[[Commit], None] = lambda _: None
    uneven: Uneven = field(default_factory=Uneven)
    span: Callable[[str], TopicSpan] | None = None

    def rescaling(self, checkpoint: Checkpoint, commits: Sequence[Commit]) -> Rescaling:
        """Return the division of the state in a checkpoint with these last commits."""
        counts = self.tasks, self.uneven
        return Rescaling(checkpoint, self.topology, *counts, commits, self.span)


def upgrade(checkpoint: Checkpoint, wanted: Upgrade) -> Checkpoint:
    """Upgrade a checkpoint to a topology; return the new checkpoint, or the same if it matches.

    Queries whose groups, source topics and stores are unchanged continue. Other queries start a new
    epoch with the state and the offsets of their last commit, and with new plan and commit logs.
    One rename makes all changes valid at once; a crash before it changes nothing. Call it under the
    app's lock, after the output of the last commits has been published.

    Raises:
        CheckpointMismatchError: A store would be emptied or misread; the message contains the
            plan and the user's choices.
        ProcessingError: A function of a migration raised.
    """
    shape = wanted.topology.shape()
    counts = dict(wanted.tasks), wanted.uneven
    if shape == checkpoint.shape and counts == (dict(checkpoint.tasks), checkpoint.uneven):
        return checkpoint
    commits = last_commits(checkpoint, wanted.objects)
    plan = _planned(checkpoint, wanted, list(commits.values()))
    _refuse(checkpoint, plan)
    for line in plan.lines():
        _LOG.info("upgrade of %s: %s", checkpoint.app, line)
    return _Upgrader(checkpoint, wanted, plan, commits).run()


def upgrade_plan(checkpoint: Checkpoint, wanted: Upgrade) -> UpgradePlan:
    """Return the plan of `upgrade`, with problems that would stop it; changes nothing."""
    return _planned(checkpoint, wanted, list(last_commits(checkpoint, wanted.objects).values()))


def _planned(checkpoint: Checkpoint, wanted: Upgrade, lasts: list[Commit]) -> UpgradePlan:
    backend = wanted.settings.state
    plan = plan_upgrade(
        checkpoint,
        wanted.topology,
        wanted.tasks,
        wanted.settings,
        waiting=lambda store: waiting_records(checkpoint, lasts, wanted.objects, backend, store),
        records=wanted.records,
        uneven=wanted.uneven,
    )
    rescale = wanted.settings.rescale
    divides = rescale is not None
    loops = loop_problems(
        checkpoint, lasts, wanted.topology, wanted.tasks, wanted.uneven, divides=divides
    )
    problems = [*plan.problems, *loops]
    if rescale is not None:
        changes = {change.store: change for change in plan.stores}
        problems += wanted.rescaling(checkpoint, lasts).problems(changes, rescale)
    return replace(plan, problems=tuple(problems))


def last_commits(checkpoint: Checkpoint, objects: ObjectStore) -> dict[str, Commit]:
    """Return the last commit of each query that has a commit."""
    return {
        query: commit
        for query in checkpoint.queries
        if (commit := checkpoint.commits(query, objects).last()) is not None
    }


def _refuse(checkpoint: Checkpoint, plan: UpgradePlan) -> None:
    if not plan.problems:
        return
    raise CheckpointMismatchError(
        f"checkpoint {str(checkpoint.home)!r} was written by another topology:"
        + "".join(f"\n  - {problem}" for problem in plan.problems)
        + "\nThe whole plan:"
        + "".join(f"\n  {line}" for line in plan.lines()),
        hint=f"nothing was changed. Use App(migrate=..., reset=...){_command(plan)}; choose "
        f"another app_id; or start fresh with `kstreams reset {checkpoint.app}`.",
    )


def _command(plan: UpgradePlan) -> str:
    return f" or `{RUN_COMMAND} {' '.join(plan.options)}`" if plan.options else ""


class _Upgrader:
    """Executes an upgrade plan, from the last commit of each query that has a commit."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        wanted: Upgrade,
        plan: UpgradePlan,
        commits: Mapping[str, Commit],
    ) -> None:
        self._old = checkpoint
        self._wanted = wanted
        self._changes: dict[str, StoreChange] = {c.store: c for c in plan.stores}
        self._commits = dict(commits)

    @property
    def _rescaling(self) -> Rescaling:
        return self._wanted.rescaling(self._old, list(self._commits.values()))

    def run(self) -> Checkpoint:
        topology = self._wanted.topology
        queries = queries_of(topology)
        moved = [query for query in queries if not self._is_unchanged(query, queries[query])]
        epoch_numbers = {q: n for q, n in self._old.epoch_numbers.items() if q in queries or n}
        objects = self._wanted.objects
        if self._old.home.takes_over:
            self._seal([query for query in self._old.queries if query not in {*queries} - {*moved}])
        for query in moved:
            if self._is_used(query):
                epoch_numbers[query] = next_epoch_number(self._old, query, objects)
            elif number := first_epoch_number(self._old, query, objects):
                epoch_numbers[query] = number
        made = replace(
            self._old,
            shape=topology.shape(),
            queries=queries,
            tasks=dict(self._wanted.tasks),
            uneven=self._wanted.uneven,
            epoch_numbers=epoch_numbers,
            ended=epochs_after(self._old, self._ended(queries, moved)),
            begun={q: d for q, d in self._old.begun.items() if q in queries and q not in moved},
        )
        groups = {group.name: group for group in topology.groups}
        begun: dict[str, str] = {}
        for query in moved:
            seed = self._seed(made, query, [groups[name] for name in queries[query]])
            begun[query] = begin_log(made, query, objects, seed)
        return replace(made, begun={**made.begun, **begun}).save()

    def _seal(self, queries: Collection[str]) -> None:
        """Fence drivers that still run the queries, and read the last commits."""
        for query in queries:
            found = take_over(
                self._old,
                query,
                self._wanted.objects,
                run=self._wanted.run,
                publish=self._wanted.publish,
                give_up=True,
            )
            if found.last is not None:
                self._commits[query] = found.last

    def _ended(self, queries: Collection[str], moved: Collection[str]) -> dict[str, int]:
        """Return the last committed batch of each query that ends or starts a new epoch.

        Args:
            queries: The names of the new topology's queries.
            moved: The names of the queries that start a new epoch.
        """
        return {
            query: commit.batch
            for query, commit in self._commits.items()
            if query in moved or query not in queries
        }

    def _is_unchanged(self, query: str, names: Sequence[str]) -> bool:
        """Return whether a query continues unchanged, with its plans and pointers.

        `names` are the names of the query's groups in the new topology.
        """
        old, shape = self._old, self._wanted.topology.shape()
        if old.queries.get(query) != tuple(names):
            return False
        return all(
            list(old.shape[name]["sources"]) == list(shape[name]["sources"])
            and list(old.shape[name].get("loops", ())) == list(shape[name].get("loops", ()))
            and old.tasks[name] == self._wanted.tasks[name]
            and not self._rewrites(name)
            and not self._recounts(name)
            for name in names
        )

    def _recounts(self, name: str) -> bool:
        """Return whether an input or a store of a group has another partition count than before."""
        (group,) = (each for each in self._wanted.topology.groups if each.name == name)
        tasks, before, now = self._wanted.tasks[name], self._old.uneven, self._wanted.uneven
        inputs = [entry.name for entry in group.inputs]
        return any(before.of_input(e, tasks) != now.of_input(e, tasks) for e in inputs) or any(
            before.of_store(s.name, tasks) != now.of_store(s.name, tasks) for s in group.stores
        )

    def _rewrites(self, group: str) -> bool:
        """Return whether a group's state must be rewritten; a new store needs no rewrite."""
        old = self._old.shape[group]["stores"]
        new = self._wanted.topology.shape()[group]["stores"]
        return any(
            self._changes[name].action != "keep" for name in {*old, *new} - self._new_stores()
        )

    def _new_stores(self) -> set[str]:
        """Return the names of stores that the upgrade adds empty."""
        return {n for n, c in self._changes.items() if c.verdict == "new" and c.action != "migrate"}

    def _is_used(self, query: str) -> bool:
        return query in self._old.queries or query in self._old.epoch_numbers

    def _seed(
        self, made: Checkpoint, query: str, groups: Sequence[PartitionGroup]
    ) -> Commit | None:
        tasks: dict[TaskId, str] = {}
        for group in groups:
            if division := self._rescaling.division(
                group, self._changes, made, self._wanted.objects, self._wanted.settings.state
            ):
                tasks |= {task: found.to_json() for task, found in division.run().items()}
                continue
            origin = self._origin(group)
            if origin is None:
                continue
            for partition in range(self._wanted.tasks[group.name]):
                task = TaskId(group.name, partition)
                found = self._pointer(origin, partition)
                if found is not None:
                    log = DurableLog(self._wanted.objects, made.task_key(query, task))
                    tasks[task] = self._carried(log, group, found).to_json()
        topics = {node.topic.name for group in groups for node in group.sources}
        seed = Commit(
            SEED,
            self._wanted.run,
            max((c.wall_ms for c in self._commits.values()), default=0),
            tasks,
            positions=self._positions(topics),
            fingerprint=self._wanted.topology.fingerprint(),
            topics={
                topic: topic_id
                for commit in self._commits.values()
                for topic, topic_id in commit.topics.items()
                if topic in topics
            },
            loops=self._loops(made, query, groups),
            totals=carried_totals(groups, self._commits.values()),
        )
        return seed if tasks or seed.positions or seed.loops else None

    def _loops(
        self, made: Checkpoint, query: str, groups: Sequence[PartitionGroup]
    ) -> tuple[LoopPart, ...]:
        """Return the records in loops; if the number of tasks changes, by their new tasks."""
        parts = loops_of(groups, self._commits.values())
        prefix = loops_prefix(made.state_name(query), made.epoch(query))
        divided = self._rescaling.loops(groups, {part.loop for part in parts})
        return divided_loops(self._wanted.objects, prefix, parts, divided) if divided else parts

    def _origin(self, group: PartitionGroup) -> str | None:
        """Return the name of the old group whose state a group starts with; None without one."""
        olds = self._old.stores()
        for spec in group.stores:
            change = self._changes[spec.name]
            name = spec.name
            if change.action == "migrate":
                name = self._wanted.settings.migrate[spec.name].old.name
            if change.action in ("keep", "migrate") and name in olds:
                return olds[name][0]
        return group.name if group.name in self._old.shape else None

    def _pointer(self, group: str, partition: int) -> Pointer | None:
        """Return the pointer of an old task; None if it has no state."""
        commit = self._commits.get(self._old.query_of_group(group))
        text = None if commit is None else commit.tasks.get(TaskId(group, partition))
        return None if text is None else Pointer.from_json(text)

    def _positions(self, topics: set[str]) -> dict[TopicPartition, int]:
        known = lowest_positions(self._commits.values())
        found = {place: offset for place, offset in known.items() if place.topic in topics}
        if self._wanted.settings.rescale is None:
            return found
        new = self._rescaling.new_positions(found)
        return found | {place: offset for place, offset in new.items() if place.topic in topics}

    def _carried(self, log: DurableLog, group: PartitionGroup, pointer: Pointer) -> Pointer:
        """Return the pointer of a task's state with exactly the stores of the new group."""
        changes = {spec.name: self._changes[spec.name] for spec in group.stores}
        kept = [name for name, change in changes.items() if change.action == "keep"]
        same = set(pointer.stores) <= set(kept)
        if same and not any(change.action == "migrate" for change in changes.values()):
            return pointer
        backend, migrate = self._wanted.settings.state, self._wanted.settings.migrate
        with scratch_directory() as home:
            source = target = None
            try:
                names = [spec.name for spec in group.stores]
                olds = {m.old.name for m in migrate.values()}
                source = backend.open(home / "old", sorted({*pointer.stores, *olds}))
                target = backend.open(home / "new", names)
                log.restore(pointer, source)
                for spec in group.stores:
                    if changes[spec.name].action == "keep" and spec.name in pointer.stores:
                        copy_store(source, target, spec.name)
                    elif changes[spec.name].action == "migrate":
                        change = migrate[spec.name]
                        recorded = recorded_parameters(self._old.shape, change.old.name)
                        windows = windows_of_store(group, spec, recorded)
                        migrate_store(change, spec, source, target, windows=windows)
                made = rewritten(log, pointer, target, tuple(sorted(names)))
                return made.with_meta(with_changelogs_of(made.meta, kept))
            finally:
                for store in (source, target):
                    if store is not None:
                        store.close()
                for part in ("old", "new"):
                    backend.remove(home / part)
