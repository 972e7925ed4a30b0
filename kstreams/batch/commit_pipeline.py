"""The plans and commits of one query, in the order in which they are written.

The plan of a batch is in the log before the batch runs, and its commit when the batch is done. With
a checkpoint in an object store, the next plan is written during the commit, because both requests
are slow. Such a plan is marked `ahead`, and is valid only with the commit before it.

These checkpoints have no lock, so a driver may run at the same time as the one that it takes over
from. It *inherits* an uncommitted plan: both drivers run the batch, and the driver that commits
later adopts the commit of the other one. See `kstreams.checkpoint.takeover`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.resume import Resumption
from kstreams.checkpoint.start.opening import OpenedQuery
from kstreams.checkpoint.takeover import kept_with, take_over
from kstreams.errors import FencedError, KStreamsError
from kstreams.state.log.commits import SEED, Commit

__all__ = ("CommitPipeline",)


@dataclass(frozen=True)
class _Pending:
    """A batch that has a plan but no commit yet.

    Attributes:
        batch: The number of the batch. After its commit, the value stays until the next plan.
        plan: The plan; None if it must still be read from the log.
        inherited: Whether an older driver planned the batch, and may commit it.
    """

    batch: int
    plan: Plan | None = None
    inherited: bool = False


class CommitPipeline:
    """Records the plan of each batch of a query, then its commit.

    Args:
        opened: The checkpoint of the query and its position.
        run: The id of this driver.

    Attributes:
        last: The last commit; None before the first commit.
        kept: The batch numbers of plans that clean-up must not delete. For each of them, clean-up
            also keeps the commit of the previous batch.
    """

    def __init__(self, opened: OpenedQuery, run: str) -> None:
        self._opened = opened
        self._run = run
        self._takes_over = opened.checkpoint.home.takes_over
        self._ahead_error: KStreamsError | None = None
        self._continue_from(opened.resumed)

    def _continue_from(self, position: Resumption) -> None:
        self.last = position.last
        self.kept = position.kept
        self._pending: _Pending | None = None
        if position.pending is not None:
            self._pending = _Pending(position.pending, inherited=self._takes_over)
        # The takeover has written a plan of this driver, unless one was pending.
        self._keeps_own_plan = self._takes_over and self._pending is None

    @property
    def next_batch(self) -> int:
        """Number of the next batch: the planned one, or the one after the last commit."""
        last = SEED if self.last is None else self.last.batch
        return max(last + 1, -1 if self._pending is None else self._pending.batch)

    def planned(self, batch: int) -> Plan | None:
        """Return the batch's plan, written before a crash or ahead of time; None without a plan.

        Raises:
            KStreamsError: Planning during the last commit failed.
        """
        if self._ahead_error is not None:
            raise self._ahead_error
        if self._pending is None or self._pending.batch != batch:
            return None
        return self._pending.plan or self._opened.plans.at(batch)

    def record(self, batch: int, plan: Plan) -> Plan:
        """Write the plan of a batch durably, and return it; the batch must run from then on.

        Raises:
            FencedError: Another driver has planned the batch.
        """
        if self._takes_over:
            if not self._keeps_own_plan:
                self._keeps_own_plan, self.kept = True, kept_with(self.kept, batch)
            plan = replace(plan, kept=self.kept)
        recorded = self._opened.plans.write(batch, plan)
        self._pending = _Pending(batch, recorded)
        return recorded

    def commit(
        self, commit: Commit, accept: Callable[[Commit], None], plan_next: Callable[[], None]
    ) -> Commit | None:
        """Write the commit of a batch.

        Args:
            commit: The commit to write.
            accept: Called once with the commit, when the next batch may be planned.
            plan_next: Called after `accept` while the commit is written, if writing is slow. If it
                raises a `KStreamsError`, the next call of `planned` raises this error, so that this
                batch is published first.

        Returns:
            The commit as in the log; None if the previous driver has committed an inherited batch.
            In this case, call `adopt`.

        Raises:
            FencedError: A newer driver owns the checkpoint.
        """
        inherited = self._inherits(commit.batch)
        sealed = self._opened.commits.sealed(commit)
        if self._takes_over and not inherited:
            with ThreadPoolExecutor(1, "kstreams-commit") as writer:
                added = writer.submit(self._opened.commits.add, sealed)
                self._finish(sealed.commit, accept)
                self._plan_ahead(plan_next)
            return added.result()
        try:
            done = self._opened.commits.add(sealed)
        except FencedError:
            if not inherited:
                raise
            return None
        self._finish(done, accept)
        if inherited:
            self._opened.plans.settle(commit.batch, self._run)
        return done

    def _inherits(self, batch: int) -> bool:
        pending = self._pending
        return pending is not None and pending.inherited and pending.batch == batch

    def _finish(self, commit: Commit, accept: Callable[[Commit], None]) -> None:
        self.last = commit
        accept(commit)

    def _plan_ahead(self, plan_next: Callable[[], None]) -> None:
        try:
            plan_next()
        except KStreamsError as exc:
            self._ahead_error = exc

    def adopt(self, batch: int, publish: Callable[[Commit], None]) -> tuple[Commit, Resumption]:
        """Take over after another driver has committed an inherited batch.

        Args:
            batch: The number of the batch.
            publish: Publishes a commit.

        Returns:
            The commit of the batch, and the new position, which has a last commit.

        Raises:
            FencedError: A newer driver has taken over meanwhile.
        """
        opened = self._opened
        commit = opened.commits.at(batch)
        opened.plans.settle(batch, self._run)
        position = take_over(
            opened.checkpoint, opened.name, opened.objects, run=self._run, publish=publish
        )
        if position.last is None:
            raise FencedError(
                f"the commits of query {opened.name!r} were deleted while the app was running",
                hint="the checkpoint was reset, or its durable log deleted: start the app again.",
            )
        self._continue_from(position)
        return commit, position

    def failure(self, batch: int, error: Exception) -> Exception:
        """Return the error of a failed batch, or a `FencedError` if another driver committed it."""
        is_done = self.last is not None and self.last.batch >= batch
        if is_done or not self._takes_over or isinstance(error, FencedError):
            return error
        with suppress(KStreamsError):
            if self._opened.commits.batches()[-1:] >= [batch]:
                return FencedError(
                    f"batch {batch} of query {self._opened.name!r} was committed by another driver",
                    hint="two apps run on one checkpoint: the newer one continues; stop this one.",
                )
        return error
