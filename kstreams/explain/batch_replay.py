"""Run the tasks of a committed batch again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from kstreams.batch.calls import calls_of
from kstreams.batch.envelope import DRIVER, Envelope
from kstreams.batch.stage_run import StageRun
from kstreams.batch.stage_settings import StageSettings
from kstreams.batch.task_run import TaskRun
from kstreams.batch.task_settings import TaskSettings
from kstreams.batch.worker_state import WorkerState
from kstreams.checkpoint.plans import Plan
from kstreams.errors import KStreamsError, ObjectMissingError, ReplayError
from kstreams.explain.replayed_app import ReplayedQuery
from kstreams.explain.replayed_state import OverlayOf, ReplayedState
from kstreams.explain.unwritten import UnwrittenSinks
from kstreams.global_tables.versions import Versions
from kstreams.ids import TaskId
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import DurableLog
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.watch import Watch

__all__ = ("BatchReplay", "TaskView", "why_not")


@dataclass(frozen=True)
class TaskView:
    """How somebody looks at a task while it runs again.

    Attributes:
        watch: Looks on; None lets it run as it ran, by columns where it can.
        overlay: Makes what its stores are read and written through.
    """

    watch: Watch | None = None
    overlay: OverlayOf = Overlay


class BatchReplay:
    """A committed batch of a query, to be run again. Nothing is written, nobody is told.

    Args:
        query: The query.
        batch: Number of the batch.

    Attributes:
        plan: What it read.
        before: The commit that it followed; None before any.
        commit: What it has led to.

    Raises:
        ReplayError: The batch, its plan or the commit before it is not retained; or another
            topology has run it.
    """

    def __init__(self, query: ReplayedQuery, batch: int) -> None:
        self._query = query
        self.batch = batch
        self.commit = self._found(batch)
        self.plan = self._planned()
        after = self.plan.after or self.commit.after
        self.before: Commit | None = None if after is None else self._found(after.batch)
        if self.before is not None and self.before.id != after:
            raise ReplayError(f"batch {batch} follows another commit than that of {after}")
        if self.commit.fingerprint not in ("", query.settings.fingerprint):
            raise ReplayError(
                f"batch {batch} of query {query.settings.name!r} was run by another topology",
                hint="only batches since the last upgrade can be run again.",
            )

    def _found(self, batch: int) -> Commit:
        commits = self._query.opened.commits
        try:
            return commits.at(batch)
        except ObjectMissingError as exc:
            known = commits.batches()
            there = f"there are {known[0]} to {known[-1]}" if known else "there is none yet"
            raise ReplayError(
                f"the commit of batch {batch} of query {self._query.settings.name!r} is not "
                f"retained; {there}",
                hint="a batch is run again from the commit before it: App(retained_batches=...) "
                "keeps more of them.",
            ) from exc

    def _planned(self) -> Plan:
        found = self._query.opened.plans.find(self.batch)
        if found is None or self.commit.plan not in ("", found.digest):
            raise ReplayError(
                f"the plan of batch {self.batch} of query {self._query.settings.name!r} is not "
                "retained: what it read is not known",
                hint="App(retained_batches=...) keeps more.",
            )
        return found

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks that have changed something, or were called, in the order of their stages."""
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
        """Run tasks again, and all tasks of the stages before theirs, which feed them.

        Args:
            tasks: Which; of the last stage that is needed no others run.
            view: How to look at each.

        Returns:
            The state of each task that ran, with its changes.

        Raises:
            ReplayError: See the class.
            DataLossError: Records that the batch read are gone.
            StateCorruptError: State that it began with is damaged, or was collected.
            KStreamsError: A task fails, which did not then.
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
    """Runs the tasks of a stage on states that are only read."""

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
        """Return what runs a task on a state of this process's memory."""
        view, query = self._view(task), self._stage.query
        objects = self._worker_state.log(query.log)
        stores = [spec.name for spec in self._stage.group.stores]
        state = ReplayedState(DurableLog(objects, query.task_key(task)), stores, view.overlay)
        self._ran[task] = state
        return TaskRun(replace(settings, watch=view.watch), state)


def _kept(messages: Iterable[bytes], last: int, wanted: Collection[int]) -> list[bytes]:
    """Leave out what is for the driver, and for tasks that do not run."""
    heads = ((payload, Envelope.unpack(payload)) for payload in messages)
    return [
        payload
        for payload, head in heads
        if head.stage != DRIVER
        and (head.stage < last or (head.stage == last and head.task in wanted))
    ]


def why_not(error: KStreamsError) -> str:
    """Return why a batch could not be run again, with what to do about it."""
    return f"{error.message} ({error.hint})" if error.hint else error.message
