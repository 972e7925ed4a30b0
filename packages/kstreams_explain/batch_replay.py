"""Replay the tasks of a committed batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from kstreams.batch.calls import calls_of
from kstreams.batch.messages.envelope import DRIVER, Envelope
from kstreams.batch.worker.stage_run import StageRun
from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.task_run import TaskRun
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import KStreamsError, ObjectMissingError, ReplayError
from kstreams.global_tables.versions import Versions
from kstreams.ids import TaskId
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import DurableLog
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.run_observer import Watch
from kstreams_explain.replayed_app import ReplayedQuery
from kstreams_explain.replayed_state import OverlayOf, ReplayedState
from kstreams_explain.unwritten import UnwrittenSinks

__all__ = ("BatchReplay", "TaskView", "why_not")


@dataclass(frozen=True)
class TaskView:
    """The way in which a replay observes a task.

    Attributes:
        watch: Receives the steps of each record. With None, the task is not observed, and runs as
            in production: by columns (Arrow tables) if possible.
        overlay: Creates the overlay through which the task reads and writes its stores.
    """

    watch: Watch | None = None
    overlay: OverlayOf = Overlay


class BatchReplay:
    """Replays a committed batch of a query, without writes and without telemetry.

    Args:
        query: The query.
        batch: Number of the batch.

    Attributes:
        plan: The plan of the batch.
        before: The previous commit; None for the first batch.
        commit: The commit of the batch.

    Raises:
        ReplayError: The batch, its plan or the previous commit is not retained, or another
            topology has run the batch.
    """

    def __init__(self, query: ReplayedQuery, batch: int) -> None:
        self._query = query
        self.batch = batch
        self.commit = self._found(batch)
        self.plan = self._planned()
        after = self.plan.after or self.commit.after
        self.before: Commit | None = None if after is None else self._found(after.batch)
        if self.before is not None and self.before.id != after:
            raise ReplayError(
                f"batch {batch} of query {query.settings.name!r} was planned after commit {after}, "
                f"but the durable log has commit {self.before.id} in its place"
            )
        if self.commit.fingerprint not in ("", query.settings.fingerprint):
            raise ReplayError(
                f"batch {batch} of query {query.settings.name!r} was run by another topology",
                hint="only batches since the last upgrade can be replayed.",
            )

    def _found(self, batch: int) -> Commit:
        commits = self._query.opened.commits
        try:
            return commits.at(batch)
        except ObjectMissingError as exc:
            known = commits.batches()
            there = f"retained are {known[0]} to {known[-1]}" if known else "no commit is retained"
            raise ReplayError(
                f"the commit of batch {batch} of query {self._query.settings.name!r} is not "
                f"retained; {there}",
                hint="a replay of a batch also needs the commit before the batch; "
                "App(retained_batches=...) retains more commits.",
            ) from exc

    def _planned(self) -> Plan:
        found = self._query.opened.plans.find(self.batch)
        if found is None or self.commit.plan not in ("", found.digest):
            raise ReplayError(
                f"the plan of batch {self.batch} of query {self._query.settings.name!r} is not "
                "retained: its input is unknown",
                hint="App(retained_batches=...) retains more batches.",
            )
        return found

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks that were called or have changed state, in the order of their stages."""
        before = {} if self.before is None else self.before.tasks
        groups = self._query.settings.groups
        stages = {group.name: number for number, group in enumerate(groups)}
        called = {TaskId(groups[stage].name, task) for stage, task in self.plan.tasks}
        changed = {t for t, text in self.commit.tasks.items() if before.get(t) != text}
        return tuple(sorted(called | changed, key=lambda task: (stages[task.group], task)))

    def run(
        self,
        tasks: Collection[TaskId],
        view: Callable[[TaskId], TaskView] = lambda _: TaskView(),
    ) -> dict[TaskId, ReplayedState]:
        """Replay tasks, after all tasks of earlier stages, whose output these tasks read.

        Args:
            tasks: The tasks. In the last stage that is needed, only these tasks run.
            view: Returns the `TaskView` of a task.

        Returns:
            The state of each task that ran, with its changes.

        Raises:
            ReplayError: See the class.
            DataLossError: Records of the batch no longer exist in their topic.
            StateCorruptError: The state before the batch is damaged or was deleted.
            KStreamsError: A task fails that succeeded in the original batch.
        """
        settings = self._query.settings
        stages = {group.name: number for number, group in enumerate(settings.groups)}
        last = max((stages[task.group] for task in tasks), default=-1)
        wanted = {task.partition for task in tasks if stages[task.group] == last}
        versions = self._query.tables.at(self.plan.globals)
        messages = [
            envelope.pack()
            for envelope in calls_of(settings, self.plan, self.before)
            if envelope.stage < last or (envelope.stage == last and envelope.task in wanted)
        ]
        ran: dict[TaskId, ReplayedState] = {}
        with gc_pauses():
            for stage in settings.stages()[: last + 1]:
                run = _StageReplay(stage, self.batch, self.plan, versions, view, ran)
                said = (payload for _, payload in run.messages(messages))
                messages = _kept(said, last, wanted)
        return ran


class _StageReplay(StageRun):
    """Runs the tasks of a stage on states in memory."""

    def __init__(
        self,
        settings: StageSettings,
        batch: int,
        plan: Plan,
        versions: Versions,
        view: Callable[[TaskId], TaskView],
        ran: dict[TaskId, ReplayedState],
    ) -> None:
        own = {spec.name for spec in settings.group.global_stores}
        read = {store: version for store, version in versions.items() if store in own}
        self._worker_state = WorkerState(writers=UnwrittenSinks())
        super().__init__(settings, self._worker_state, batch, plan.cuts, read)
        self._stage = settings
        self._view = view
        self._ran = ran

    def task_run(self, task: TaskId, settings: TaskSettings) -> TaskRun:
        """Return a task run whose state is in the memory of this process."""
        view, query = self._view(task), self._stage.query
        objects = self._worker_state.log(query.log)
        stores = [spec.name for spec in self._stage.group.stores]
        state = ReplayedState(DurableLog(objects, query.task_key(task)), stores, view.overlay)
        self._ran[task] = state
        return TaskRun(replace(settings, watch=view.watch), state)


def _kept(messages: Iterable[bytes], last: int, wanted: Collection[int]) -> list[bytes]:
    """Return only the messages to tasks that the replay runs.

    Args:
        messages: The packed messages of a stage.
        last: The number of the last stage to replay.
        wanted: The partitions to run in this last stage; all tasks of earlier stages run.
    """
    heads = ((payload, Envelope.unpack(payload)) for payload in messages)
    return [
        payload
        for payload, head in heads
        if head.stage != DRIVER
        and (head.stage < last or (head.stage == last and head.task in wanted))
    ]


def why_not(error: KStreamsError) -> str:
    """Return the reason why a replay was not possible, with the hint of the error."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
