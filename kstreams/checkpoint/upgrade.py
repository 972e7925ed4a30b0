"""Bring a checkpoint to a changed topology, all or nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kstreams.checkpoint.app_settings import AppSettings
from kstreams.checkpoint.beginnings import begin_log
from kstreams.checkpoint.changes import StoreChange, UpgradePlan, plan_upgrade
from kstreams.checkpoint.checkpoint import Checkpoint, queries_of
from kstreams.checkpoint.counted import carried_totals
from kstreams.checkpoint.generations import (
    copy_store,
    epochs_after,
    first_generation,
    next_generation,
    rewritten,
)
from kstreams.checkpoint.loops_under_way import loop_problems, loops_of
from kstreams.checkpoint.migration import migrate_store
from kstreams.checkpoint.resume import positions_after
from kstreams.checkpoint.takeover import take_over
from kstreams.checkpoint.waiting_records import waiting_records
from kstreams.errors import CheckpointMismatchError
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.ids import TaskId, TopicPartition
from kstreams.scratch import scratch_directory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer

__all__ = ("Upgrade", "upgrade", "upgrade_plan")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Upgrade:
    """What an upgrade needs in addition to the checkpoint.

    Attributes:
        settings: The app's.
        topology: What is to run.
        tasks: Number of its tasks by group.
        objects: The durable log.
        run: Id of the driver.
        records: Returns how many records a topic has; None where that is not known.
        publish: Shows what a commit has left unshown, where a query is taken over.
    """

    settings: AppSettings
    topology: Topology
    tasks: Mapping[str, int]
    objects: ObjectStore
    run: str
    records: Callable[[str], int] | None = None
    publish: Callable[[Commit], None] = lambda _: None


def upgrade(checkpoint: Checkpoint, wanted: Upgrade) -> Checkpoint:
    """Return the checkpoint as the topology needs it.

    Queries whose groups, source topics and stores are as they were go on. The others begin
    a new generation on the state and the offsets of their last commit: with plans and commits
    of their own. One rename makes all of it count at once; before
    that nothing is changed, whatever is killed. To be called under the app's lock, with
    what the last commits have left unpublished published.

    Raises:
        CheckpointMismatchError: A store would be emptied or misread; the message is the
            plan, and says what the user can decide.
        ProcessingError: A migration raised.
    """
    shape = wanted.topology.shape()
    if shape == checkpoint.shape and dict(wanted.tasks) == dict(checkpoint.tasks):
        return checkpoint
    commits = _commits(checkpoint, wanted.objects)
    plan = _planned(checkpoint, wanted, list(commits.values()))
    _refuse(checkpoint, plan)
    for line in plan.lines():
        _LOG.info("upgrade of %s: %s", checkpoint.app, line)
    return _Upgrader(checkpoint, wanted, plan, commits).run()


def upgrade_plan(checkpoint: Checkpoint, wanted: Upgrade) -> UpgradePlan:
    """Return what `upgrade` would do, and what keeps it from that; nothing is changed."""
    return _planned(checkpoint, wanted, list(_commits(checkpoint, wanted.objects).values()))


def _planned(checkpoint: Checkpoint, wanted: Upgrade, lasts: list[Commit]) -> UpgradePlan:
    backend = wanted.settings.state
    plan = plan_upgrade(
        checkpoint,
        wanted.topology,
        wanted.tasks,
        wanted.settings,
        waiting=lambda store: waiting_records(checkpoint, lasts, wanted.objects, backend, store),
        records=wanted.records,
    )
    loops = loop_problems(checkpoint, lasts, wanted.topology, wanted.tasks)
    return replace(plan, problems=(*plan.problems, *loops))


def _commits(checkpoint: Checkpoint, objects: ObjectStore) -> dict[str, Commit]:
    """Return the last commit of each query that has any."""
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
        hint="nothing was changed. Say what to do with App(migrate=..., reset=...), choose another "
        f"app_id, or start fresh with `kstreams reset {checkpoint.app}`.",
    )


class _Upgrader:
    """Carries out a plan, from the last commit of each query that has any."""

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

    def run(self) -> Checkpoint:
        topology = self._wanted.topology
        queries = queries_of(topology)
        moved = [query for query in queries if not self._goes_on(query, queries[query])]
        generations = {q: n for q, n in self._old.generations.items() if q in queries or n}
        objects = self._wanted.objects
        if self._old.home.takes_over:
            self._seal([query for query in self._old.queries if query not in {*queries} - {*moved}])
        for query in moved:
            if self._is_used(query):
                generations[query] = next_generation(self._old, query, objects)
            elif number := first_generation(self._old, query, objects):
                generations[query] = number
        made = replace(
            self._old,
            shape=topology.shape(),
            queries=queries,
            tasks=dict(self._wanted.tasks),
            generations=generations,
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
        """Keep whoever still runs queries from another batch, and take their last commits."""
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
        """Return the last batches of queries that do not go on as they are."""
        return {
            query: commit.batch
            for query, commit in self._commits.items()
            if query in moved or query not in queries
        }

    def _goes_on(self, query: str, names: Sequence[str]) -> bool:
        """Tell whether the plans and all pointers of a query can stay."""
        old, shape = self._old, self._wanted.topology.shape()
        if old.queries.get(query) != tuple(names):
            return False
        return all(
            list(old.shape[name]["sources"]) == list(shape[name]["sources"])
            and list(old.shape[name].get("loops", ())) == list(shape[name].get("loops", ()))
            and old.tasks[name] == self._wanted.tasks[name]
            and not self._rewrites(name)
            for name in names
        )

    def _rewrites(self, group: str) -> bool:
        """Tell whether a group's state is not just what it was; a new store is no rewriting."""
        old = self._old.shape[group]["stores"]
        new = self._wanted.topology.shape()[group]["stores"]
        return any(self._changes[name].action != "keep" for name in {*old, *new} - self._fresh())

    def _fresh(self) -> set[str]:
        return {n for n, c in self._changes.items() if c.verdict == "new" and c.action != "migrate"}

    def _is_used(self, query: str) -> bool:
        return query in self._old.queries or query in self._old.generations

    def _seed(
        self, made: Checkpoint, query: str, groups: Sequence[PartitionGroup]
    ) -> Commit | None:
        tasks: dict[TaskId, str] = {}
        for group in groups:
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
            loops=loops_of(groups, self._commits.values()),
            totals=carried_totals(groups, self._commits.values()),
        )
        return seed if tasks or seed.positions or seed.loops else None

    def _origin(self, group: PartitionGroup) -> str | None:
        """Return the old group whose tasks a group's tasks go on from."""
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
        """Return an old task's pointer."""
        commit = self._commits.get(self._old.query_of_group(group))
        text = None if commit is None else commit.tasks.get(TaskId(group, partition))
        return None if text is None else Pointer.from_json(text)

    def _positions(self, topics: set[str]) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        for commit in self._commits.values():
            for place, offset in positions_after(commit).items():
                if place.topic in topics:
                    found[place] = min(offset, found.get(place, offset))
        return found

    def _carried(self, log: DurableLog, group: PartitionGroup, pointer: Pointer) -> Pointer:
        """Return a task's pointer with exactly the stores that the group has now."""
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
                        migrate_store(migrate[spec.name], spec, source, target)
                made = rewritten(log, pointer, target, tuple(sorted(names)))
                return made.with_meta(_with_changelogs_of(made.meta, kept))
            finally:
                for store in (source, target):
                    if store is not None:
                        store.close()
                for part in ("old", "new"):
                    backend.remove(home / part)


def _with_changelogs_of(meta: Mapping[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """Return a task's data for which only the changelogs of kept stores go on."""
    found = dict(meta)
    for part in ("logs", "log_ids"):
        ours = {name: of for name, of in found.pop(part, {}).items() if name in kept}
        found.update({part: ours} if ours else {})
    return found
