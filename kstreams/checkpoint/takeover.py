"""The takeover of a query by a new driver without a lock: the driver writes the next plan.

Every plan is written with a conditional create, before any other object of its batch. So a driver
that owns the plan after the last commit keeps all other drivers from continuing, before any output.
A new driver *claims* that batch number with a plan without input, and commits it empty. If an older
driver has planned an uncommitted batch, the new driver runs the same plan, perhaps at the same
time: both drivers write the same data. The driver with the later commit adopts the commit of the
other driver.

Cleanup deletes old plans and commits, and a driver that hung might then find its next batch number
unused. So the first plan of each driver and the commit before this plan stay: one of them has the
number that the previous driver writes next. A driver that runs another driver's plan writes no plan
of its own; it stores a note of this batch, whose plan and commit then stay, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.checkpoint.resume import Resumption, positions_after, resume
from kstreams.errors import FencedError, ObjectMissingError, StateCorruptError, Where
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit

__all__ = ("kept_with", "seal", "take_over")

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 20
_SEAL = "reset "
"""The prefix of `Plan.takeover` in the plan of a reset, after which no driver continues."""
_MOST_KEPT = 100
"""The number of starts of other drivers during which a hung driver is still fenced."""


def take_over(
    checkpoint: Checkpoint,
    query: str,
    objects: ObjectStore,
    *,
    run: str,
    publish: Callable[[Commit], None],
    give_up: bool = False,
) -> Resumption:
    """Keep older drivers from continuing a query; return the query's position.

    Args:
        checkpoint: The checkpoint; the log of the query exists.
        query: The name of the query.
        objects: The durable log.
        run: The id of this driver.
        publish: Publishes the remaining output of the last commit, before the empty commit.
        give_up: Whether to drop a planned batch, because the query does not continue unchanged.

    Returns:
        The position after the claim of this driver, or with a pending planned batch, which must run
        first, perhaps at the same time as on an older driver.

    Raises:
        FencedError: A newer driver has taken over the query.
        LogMismatchError: The log is not that of the checkpoint.
        StateCorruptError: A plan or a commit is unreadable.
    """
    plans, commits = checkpoint.plans(query), checkpoint.commits(query, objects)
    noted = None
    for _ in range(_ATTEMPTS):
        found = resume(checkpoint, query, objects)
        number = SEED + 1 if found.last is None else found.last.batch + 1
        if found.pending is not None:
            number, claim = found.pending, plans.at(found.pending)
            if not claim.takeover and not give_up:
                if number == noted:
                    return found
                plans.inherit(number, run)  # then check again: the current entry stays
                noted = number
                continue
            if not claim.takeover:
                claim = Plan({}, _before(plans, found.last), topics=found.topics)
        else:
            claim = Plan(
                {},
                found.positions,
                after=None if found.last is None else found.last.id,
                topics=found.topics,
                takeover=run,
                kept=kept_with(found.kept, number),
            )
            try:
                claim = plans.write(number, claim)
            except FencedError:
                continue  # the older driver was quicker
        if found.last is not None:
            publish(found.last)
        try:
            commits.append(_empty(number, claim, found.last, run))
        except FencedError:
            if claim.takeover == run:
                raise
            continue  # the driver that claimed it has committed it
        if claim.takeover != run:
            continue
        found = resume(checkpoint, query, objects)
        if found.last is not None and found.last.batch == number and found.pending is None:
            _LOG.info("query %s: taken over at batch %d", query, number)
            return found  # else this driver has looked long ago, and others have gone on since
    raise FencedError(
        f"query {query!r}: other drivers have taken over the checkpoint repeatedly",
        hint="run only one app on a checkpoint.",
        where=Where(app=checkpoint.app),
    )


def seal(checkpoint: Checkpoint, query: str, objects: ObjectStore, *, run: str) -> list[str]:
    """Keep all drivers of a query from running further batches, even if objects are damaged.

    A planned batch may still be committed.

    Args:
        checkpoint: The checkpoint to remove.
        query: The name of the query.
        objects: The durable log.
        run: The id of the process that removes the checkpoint.

    Returns:
        The names of the plans that must stay, because they keep drivers from continuing.
    """
    plans = checkpoint.plans(query)
    commits = replace(checkpoint, begun={}).commits(query, objects)
    while True:
        newest = max([SEED, *commits.batches(), *plans.numbers()])
        with suppress(ObjectMissingError, StateCorruptError):
            if plans.at(newest).takeover.startswith(_SEAL):  # by a reset that has ended half-way
                return plans.names(newest)
        with suppress(FencedError):  # it was planned just now
            plans.write(newest + 1, Plan({}, takeover=f"{_SEAL}{run}"))
            return plans.names(newest + 1)


def kept_with(kept: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return the batch numbers of the plans that cleanup keeps after the start of a driver.

    `kept` are the batch numbers that cleanup kept before, `number` is that of the driver's first
    plan.
    """
    return (*kept, number)[-_MOST_KEPT:]


def _before(plans: PlanLog, last: Commit | None) -> Mapping[TopicPartition, int]:
    """Return the first offset of each partition for the batch after a commit."""
    begun = plans.begun()
    return {
        **({} if begun is None else begun.positions),
        **({} if last is None else positions_after(last)),
    }


def _empty(number: int, claim: Plan, last: Commit | None, run: str) -> Commit:
    """Return an empty commit for a claim (a plan without input), with the state of `last`."""
    return Commit(
        number,
        run,
        0 if last is None else last.wall_ms,
        {} if last is None else last.tasks,
        positions=claim.positions,
        fingerprint="" if last is None else last.fingerprint,
        after=None if last is None else last.id,
        plan=claim.digest,
        topics=claim.topics,
        loops=() if last is None else last.loops,
        totals=None if last is None else last.totals,
    )
