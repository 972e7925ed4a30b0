"""Where a query goes on: what its plans, commits and notes say, held against each other.

A batch's plan is written before it runs, perhaps beside the commit of the batch before; its own
commit when it is done, and a note of it after that (`DoneNotes`). A plan names the commit that it
follows. So a process that dies leaves plans without a commit, two at most, or a commit that is
not noted; never a plan that was run and whose commit before is missing, and never a batch with a
plan that is noted and not committed. Where that is what is found, the log was moved, emptied or
replaced by an older one since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan
from kstreams.errors import LogMismatchError, Where
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import SEED, Commit, CommitName
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("Resumption", "positions_after", "resume")


@dataclass(frozen=True)
class Resumption:
    """Where a query goes on.

    Attributes:
        last: Its last commit, or None.
        positions: Where planning goes on in each partition; empty before the first plan.
        topics: Ids of the topics that these are in, as far as they are known.
        pending: Number of the plan that was made and is not committed, or None.
        kept: Numbers of the plans that clean-up leaves alone.
    """

    last: Commit | None
    positions: Mapping[TopicPartition, int]
    topics: Mapping[str, str]
    pending: int | None
    kept: tuple[int, ...] = ()


def resume(checkpoint: Checkpoint, query: str, objects: ObjectStore) -> Resumption:
    """Return where a query goes on, if what there is of it fits together.

    Writes nothing. Beside a running app the order of reading is what makes it right: the
    notes, then the plans, then the commits.

    Args:
        checkpoint: The app's.
        query: Name of the query.
        objects: The durable log.

    Raises:
        LogMismatchError: The log lacks batches that were committed, or is another.
        StateCorruptError: A plan or a commit cannot be read.
    """
    noted = checkpoint.done_notes(query).last()
    plans = checkpoint.plans(query)
    numbers, newest = plans.numbers(), plans.newest()
    commits = checkpoint.commits(query, objects)
    seed = ""
    if query in checkpoint.begun:
        beginning, digest = commits.beginning()
        if digest != checkpoint.begun[query]:
            raise _mismatch(checkpoint, objects, f"it has begun as {beginning}")
        seed = beginning.seed
    last = commits.last()
    numbers, newest = _counting(plans, numbers, newest, last)
    problem = _seed_problem(last, seed)
    if newest is not None and not problem:
        problem = _problem(last, numbers, newest, noted)
    if problem:
        raise _mismatch(checkpoint, objects, f"query {query!r}: {problem}")
    batch = SEED - 1 if last is None else last.batch
    kept = () if newest is None else newest.kept
    if newest and (newest.positions or newest.takeover) and numbers[-1] >= batch:
        pending = numbers[-1] if numbers[-1] > batch else None
        # What the tasks of its last plan have held back, its commit alone says.
        done = last.positions if last is not None and pending is None else {}
        return Resumption(last, {**newest.positions, **done}, newest.topics, pending, kept)
    if last is not None:
        return Resumption(last, positions_after(last), last.topics, None, kept)
    return Resumption(None, {}, {}, None, kept)


def _counting(
    plans: PlanLog, numbers: list[int], newest: Plan | None, last: Commit | None
) -> tuple[list[int], Plan | None]:
    """Leave out a plan that was written beside a commit which is not there, or not yet."""
    done = SEED if last is None else last.batch
    while newest is not None and newest.ahead and numbers[-1] - done in (1, 2):
        if numbers[-1] == done + 1 and newest.counts_after(None if last is None else last.id):
            break
        numbers = numbers[:-1]
        newest = plans.find(numbers[-1]) if numbers else None
    return numbers, newest


def _seed_problem(last: Commit | None, seed: str) -> str:
    if last is None:
        return "the state that it began with is gone" if seed else ""
    if last.batch == SEED and seed and last.digest != seed:
        return "the state that it began with is another"
    return ""


def _problem(last: Commit | None, numbers: list[int], newest: Plan, noted: int) -> str:
    """Return what is wrong with a log, or nothing."""
    number = numbers[-1]
    batch = SEED - 1 if last is None else last.batch
    if last is not None and batch > number:
        return ""  # the plans are older than the log, whose commits say where to read on
    if last is not None and batch == number:
        if last.plan in ("", newest.digest):
            return ""
        return f"the commit of batch {batch} is not that of its plan"
    if newest.after is not None:
        return _after_problem(last, number, newest.after) or _noted_problem(number, noted)
    if len(numbers) > 1 and batch < numbers[-2]:
        return f"batch {numbers[-2]} was committed, and its commit is missing; {_ends_at(last)}"
    return _noted_problem(number, noted)


def _after_problem(last: Commit | None, number: int, after: CommitName) -> str:
    if last is None or last.batch < after.batch:
        return f"batch {after.batch} was committed, and its commit is missing; {_ends_at(last)}"
    if last.id != after:
        return (
            f"plan {number} follows batch {after.batch} with digest {after.digest[:16]}; "
            f"{_ends_at(last)}, with digest {last.digest[:16]}"
        )
    return ""


def _noted_problem(number: int, noted: int) -> str:
    if noted < number:
        return ""
    return f"batch {number} was completed, as was noted, and its commit is missing"


def _ends_at(last: Commit | None) -> str:
    if last is None:
        return "the log has no commit at all"
    return f"the log ends with batch {last.batch}"


def _mismatch(checkpoint: Checkpoint, objects: ObjectStore, problem: str) -> LogMismatchError:
    return LogMismatchError(
        f"the durable log {objects} is not the one that checkpoint {str(checkpoint.home)!r} "
        f"stands on, or was changed: {problem}",
        hint=LogMismatchError.WAY_ON,
        where=Where(app=checkpoint.app),
    )


def positions_after(commit: Commit) -> dict[TopicPartition, int]:
    """Return the first offset not processed yet of each partition.

    What a task's pointer says belongs to its state, and wins. Where several tasks read one
    partition it is the lowest: each skips what it has had.
    """
    own: dict[TopicPartition, int] = {}
    for pointer in commit.pointers().values():
        for place, offset in TaskMeta.from_json(pointer.meta).next_offsets.items():
            own[place] = min(offset, own.get(place, offset))
    return {**commit.positions, **own}
