"""Make a replica the app: the app continues with the replica's topology and state.

All queries of the app start a new epoch with the state of the replica at the app's last committed
batch. One atomic write of the app description makes the new epochs valid, as in an upgrade: until
then nothing of the app has changed, and an interrupted cut-over can be repeated. The replicas stay,
and follow the new epochs, so a cut-over to the other replica reverses it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from uuid import uuid4

from kstreams.batch.io.open_feed import publish_commit
from kstreams.batch.task_counts import count_partitions
from kstreams.checkpoint.checkpoint import Checkpoint, queries_of
from kstreams.checkpoint.log_headers import begin_log
from kstreams.checkpoint.new_epochs import epochs_after, first_epoch_number, next_epoch_number
from kstreams.checkpoint.resume import positions_after, resume
from kstreams.checkpoint.savepoint.copied_state import copied_state
from kstreams.checkpoint.start.upgrade import last_commits
from kstreams.checkpoint.takeover import take_over
from kstreams.checkpoint.totals import carried_totals
from kstreams.errors import AppLockedError, CheckpointMismatchError
from kstreams.ids import TaskId
from kstreams.state.backend.task_key import loops_prefix
from kstreams.state.log.commits import SEED, Commit
from kstreams.state.log.loop_objects import copy_loops
from kstreams_shadow.replica import Replica
from kstreams_shadow.shadow_home import CutOver, Side
from kstreams_shadow.shadow_run import ShadowRun

__all__ = ("CutOverDone", "cut_over")

_POLL_S = 0.02


@dataclass(frozen=True)
class CutOverDone:
    """The result of a cut-over.

    Attributes:
        side: The replica that the app continues with.
        batches: The last batch of each query before the cut-over.
        changed: Whether the app has changed; false if it had this side already.
        stopped_seconds: The time from the lock of the app to the end of the cut-over.
    """

    side: Side
    batches: Mapping[str, int]
    changed: bool
    stopped_seconds: float


def cut_over(shadow: ShadowRun, side: Side, *, wait: timedelta = timedelta(0)) -> CutOverDone:
    """Make a replica the app.

    The replicas first follow the app without stopping it. Then the app must be stopped; with a
    checkpoint in object storage, a running app is fenced. The output of its last batch is
    published, and the replicas process the remaining batches.

    Args:
        shadow: The open shadow.
        side: The replica.
        wait: The maximum time to wait until the app has stopped.

    Raises:
        AppLockedError: The app runs; nothing has changed.
        CheckpointMismatchError: The replica is not at the position of the app.
        FencedError: Another driver has started the app.
        LogMismatchError: The durable log is not that of the checkpoint.
        StateCorruptError: An object is missing or damaged.
    """
    settings = shadow.settings
    _follow(shadow)
    with _locked(shadow, wait):
        began = time.monotonic()
        app = Checkpoint.load(settings.app)
        description = settings.home.checked(app)
        lasts = last_commits(app, shadow.objects)
        batches = {query: commit.batch for query, commit in lasts.items()}
        active = description.active(app)
        if active == side:
            return CutOverDone(side, batches, changed=False, stopped_seconds=0.0)
        publish = partial(
            publish_commit,
            settings.connection,
            settings.side(active).topology,
            objects=shadow.objects,
        )
        for query in app.queries:
            if app.home.takes_over:
                run = uuid4().hex[:12]
                parts = app, query, shadow.objects
                take_over(*parts, run=run, publish=publish, give_up=True)
            elif (last := resume(app, query, shadow.objects).last) is not None:
                publish(last)
        _follow(shadow)
        _Installation(shadow, app, side).run()
        return CutOverDone(side, batches, changed=True, stopped_seconds=time.monotonic() - began)


def _follow(shadow: ShadowRun) -> None:
    while shadow.step() is not None:
        pass


@contextmanager
def _locked(shadow: ShadowRun, wait: timedelta) -> Iterator[None]:
    """Hold the lock of the app; follow its batches while it still runs."""
    lock = shadow.settings.app.lock()
    until = time.monotonic() + wait.total_seconds()
    while True:
        try:
            lock.acquire()
            break
        except AppLockedError:
            if time.monotonic() >= until:
                raise
        _follow(shadow)
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        lock.release()


class _Installation:
    """Copies the state of a replica to the app, and makes it valid."""

    def __init__(self, shadow: ShadowRun, app: Checkpoint, side: Side) -> None:
        self._shadow, self._app = shadow, app
        self._side: Side = side
        self._replica: Replica = shadow.replicas[side]
        self._objects = shadow.objects
        self._lasts = last_commits(app, self._objects)

    def run(self) -> None:
        self._check_positions()
        topology = self._replica.topology
        queries = queries_of(topology)
        numbers = {
            query: number
            for query, number in self._app.epoch_numbers.items()
            if query not in self._app.queries or query in queries or number
        }
        for query in queries:
            numbers[query] = self._number(query)
        counts = count_partitions(self._shadow.settings.connection, topology)
        made = replace(
            self._app,
            shape=topology.shape(),
            queries=queries,
            tasks=counts.tasks,
            uneven=counts.uneven,
            epoch_numbers=numbers,
            ended=epochs_after(self._app, {q: c.batch for q, c in self._lasts.items()}),
            begun={},
        ).with_logs_of(topology)
        begun = {
            query: begin_log(made, query, self._objects, self._seed(made, query))
            for query in queries
        }
        self._shadow.settings.home.record(self._app, CutOver(self._side, begun))
        replace(made, begun=begun).save()

    def _number(self, query: str) -> int:
        """Return an epoch number above all earlier ones of a query."""
        if query in self._app.queries or query in self._app.epoch_numbers:
            return next_epoch_number(self._app, query, self._objects)
        return max(1, first_epoch_number(self._app, query, self._objects))

    def _check_positions(self) -> None:
        for query, commit in self._lasts.items():
            topics = frozenset(
                t for g in self._app.queries[query] for t in self._app.shape[g]["sources"]
            )
            name = self._shadow.query_of(self._side, query, topics)
            ours = self._replica.positions(name)
            for place, offset in positions_after(commit).items():
                if place.topic in topics and ours.get(place) != offset:
                    raise CheckpointMismatchError(
                        f"the replica {self._side!r} has read {place} up to offset "
                        f"{ours.get(place)}, but the app up to {offset}",
                        hint="nothing was changed. Start the app until it has committed another "
                        "batch, then repeat the cut-over.",
                    )

    def _seed(self, made: Checkpoint, query: str) -> Commit | None:
        last = self._replica.last(query)
        if last is None:
            return None
        source = self._replica.objects
        tasks: dict[TaskId, str] = {}
        for task, pointer in last.pointers().items():
            key = made.task_key(query, task)
            copy = copied_state(source, self._objects, pointer, key, offsets=True)
            tasks[task] = copy.to_json()
        prefix = loops_prefix(made.state_name(query), made.epoch(query))
        topology = self._replica.topology
        groups = [group for group in topology.groups if group.name in made.queries[query]]
        return Commit(
            SEED,
            made.checkpoint_id,
            max((commit.wall_ms for commit in self._lasts.values()), default=0),
            tasks,
            positions=positions_after(last),
            fingerprint=topology.fingerprint(),
            topics=last.topics,
            loops=copy_loops(source, self._objects, prefix, last.loops),
            totals=carried_totals(groups, self._lasts.values()),
        )
