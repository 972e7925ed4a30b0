"""How a new driver takes a query from an older one where there is no lock: by writing its plan.

Every plan is created if it is absent, and a driver writes the plan of a batch before anything
else of it. So whoever holds the plan after the last commit keeps all others from going on, before
any output. A new driver *claims* that number by a plan of nothing, and commits it, empty. Where
an older driver has planned a batch that is not committed, the new one runs that very plan, perhaps
beside it: what both write is the same. Whose commit comes second takes the other's for its own.

Plans and commits are deleted when they are long done, and a driver that hangs might find its next
number free again. So the first plan that each driver has written stays, and the commit before it:
one of the two is the next that the driver before writes. A driver that runs what another one has
planned is not seen by that one; so it notes the batch before, whose commit stays then too.
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
"""What a plan says that no driver goes on after."""
_MOST_KEPT = 100
"""So many starts of others a driver may hang through, and is still kept away."""


def take_over(
    checkpoint: Checkpoint,
    query: str,
    objects: ObjectStore,
    *,
    run: str,
    publish: Callable[[Commit], None],
    give_up: bool = False,
) -> Resumption:
    """Keep older drivers from going on with a query; return where it goes on.

    Args:
        checkpoint: The app's; the query's log has begun.
        query: Name of the query.
        objects: The durable log.
        run: Id of this driver.
        publish: Shows what the last commit has left unshown, before an empty one follows it.
        give_up: Whether a batch that was planned is not to run any more, because the query does
            not go on as it is.

    Returns:
        What this driver has claimed; or a batch that was planned and has to run first, while an
        older driver may still run it too.

    Raises:
        FencedError: A newer driver has taken over meanwhile.
        LogMismatchError: The log is not the one that the checkpoint stands on.
        StateCorruptError: A plan or a commit cannot be read.
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
                plans.inherit(number, run)  # and look again: what is there now stays
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
        f"query {query!r}: other drivers take over all the time",
        hint="let one app run on a checkpoint.",
        where=Where(app=checkpoint.app),
    )


def seal(checkpoint: Checkpoint, query: str, objects: ObjectStore, *, run: str) -> list[str]:
    """Keep whoever runs a query from another batch, for good; what it has can be unreadable.

    A batch that is planned already may still be committed.

    Args:
        checkpoint: The app's, which is to be removed.
        query: Name of the query.
        objects: The durable log.
        run: Id of whoever removes it.

    Returns:
        The names of the plans of the number that does it.
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
    """Return which plans clean-up leaves alone once a driver has begun with a number."""
    return (*kept, number)[-_MOST_KEPT:]


def _before(plans: PlanLog, last: Commit | None) -> Mapping[TopicPartition, int]:
    """Return where a batch has begun to read that follows a commit."""
    begun = plans.begun()
    return {
        **({} if begun is None else begun.positions),
        **({} if last is None else positions_after(last)),
    }


def _empty(number: int, claim: Plan, last: Commit | None, run: str) -> Commit:
    """Return the commit of a claim: what the one before it says, and nothing new."""
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
